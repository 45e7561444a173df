#include "model/draft.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* The guide, chapter 21: of A, B, C and D the target agrees with A and B, C is replaced by its own
 * and D not taken: three tokens. */
static void two_of_four_bring_three_tokens(void **state) {
    (void)state;
    sli_draft_round found = sli_draft_round_of(4, 2);
    assert_int_equal(found.verified, 5);
    assert_int_equal(found.accepted, 2);
    assert_int_equal(found.replaced, 1);
    assert_int_equal(found.dropped, 1);
    assert_int_equal(found.tokens, 3);
}

static void a_whole_block_brings_one_token_more(void **state) {
    (void)state;
    sli_draft_round found = sli_draft_round_of(4, 4);
    assert_int_equal(found.replaced, 0);
    assert_int_equal(found.dropped, 0);
    assert_int_equal(found.tokens, 5);
    assert_int_equal(found.given_up, 0);
}

static void candidates_and_slots_are_conserved(void **state) {
    (void)state;
    for (int64_t block = 1; block <= 20; block++) {
        for (int64_t accepted = 0; accepted <= block; accepted++) {
            sli_draft_round found = sli_draft_round_of(block, accepted);
            assert_int_equal(found.accepted + found.replaced + found.dropped, block);
            assert_int_equal(found.kept + found.given_up, found.verified);
            /* The token before the block has a slot; the last that comes out has none yet. */
            assert_int_equal(found.kept, found.tokens);
            assert_in_range(found.tokens, 1, block + 1);
        }
    }
}

/* (1 - a^(k+1)) / (1 - a), tabulated: rows a = 0.6 to 0.9, columns k = 3, 7, 15. */
static void equal_chances_bring_what_the_formula_says(void **state) {
    (void)state;
    static const double chances[] = {0.6, 0.7, 0.8, 0.9};
    static const size_t blocks[] = {3, 7, 15};
    static const char *const texts[4][3] = {{"2.18", "2.46", "2.50"},
                                            {"2.53", "3.14", "3.32"},
                                            {"2.95", "4.16", "4.86"},
                                            {"3.44", "5.70", "8.15"}};
    for (size_t i = 0; i < COUNT_OF(chances); i++) {
        for (size_t j = 0; j < COUNT_OF(blocks); j++) {
            double survival[SLI_DRAFT_TOKENS_MAX];
            sli_draft_survival(chances[i], survival, blocks[j]);
            double tokens = sli_draft_mean(survival, blocks[j]);
            char found[32];
            snprintf(found, sizeof found, "%.2f", tokens);
            assert_string_equal(found, texts[i][j]);
            double closed = (1.0 - pow(chances[i], (double)blocks[j] + 1.0)) / (1.0 - chances[i]);
            assert_true(fabs(tokens - closed) < 1e-12);
        }
    }
}

/* Of 1,000 rounds 600 accept the first candidate, 300 of them the second, 90 the third. */
static void the_mean_is_that_of_the_rounds(void **state) {
    (void)state;
    static const int64_t rounds[] = {400, 300, 210, 90}; /* that accept 0, 1, 2, 3 */
    static const double survival[] = {0.6, 0.3, 0.09};
    int64_t tokens = 0;
    for (size_t i = 0; i < COUNT_OF(rounds); i++) {
        tokens += rounds[i] * sli_draft_round_of(3, (int64_t)i).tokens;
    }
    assert_true(fabs(sli_draft_mean(survival, 3) - (double)tokens / 1000.0) < 1e-12);
}

static void certain_chances_are_the_ends(void **state) {
    (void)state;
    double survival[8];
    sli_draft_survival(1.0, survival, 8);
    assert_true(sli_draft_mean(survival, 8) == 9.0);
    sli_draft_survival(0.0, survival, 8);
    assert_true(sli_draft_mean(survival, 8) == 1.0);
    assert_true(sli_draft_mean(NULL, 0) == 1.0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_of_four_bring_three_tokens),
        cmocka_unit_test(a_whole_block_brings_one_token_more),
        cmocka_unit_test(candidates_and_slots_are_conserved),
        cmocka_unit_test(equal_chances_bring_what_the_formula_says),
        cmocka_unit_test(the_mean_is_that_of_the_rounds),
        cmocka_unit_test(certain_chances_are_the_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
