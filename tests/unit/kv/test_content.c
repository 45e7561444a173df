/* The contents of blocks: keys by hand, agreements against contents compared token by token. */
#include "kv/content.h"

#include "kernel/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_key(sli_block_key key, uint64_t id, uint32_t scope, uint32_t end_block) {
    assert_int_equal(key.id, id);
    assert_int_equal(key.scope, scope);
    assert_int_equal(key.end_block, end_block);
}

/* Units of 4 tokens, a prompt of 10: ids 70 (0-3), 71 (4-7), 72 (8-9, partly filled). */
static void names_a_block_by_the_unit_of_its_last_token(void **state) {
    (void)state;
    const uint64_t ids[] = {70, 71, 72};
    const sl_content content = {ids, 3, 4, 5};
    assert_key(sli_content_key(&content, 1, 3), 70, 5, 1);  /* ends with token 2 */
    assert_key(sli_content_key(&content, 2, 3), 71, 5, 2);  /* 5, of the second unit */
    assert_key(sli_content_key(&content, 3, 3), 72, 5, 3);  /* 8 */
    assert_key(sli_content_key(&content, 1, 4), 70, 5, 1);  /* 3, the last of its unit */
    assert_key(sli_content_key(&content, 1, 10), 72, 5, 1); /* 9, the last of the prompt */
    assert_key(sli_content_key(&content, 10, 1), 72, 5, 10);
}

static void keys_are_equal_in_all_fields_or_not_at_all(void **state) {
    (void)state;
    const sli_block_key key = {.id = 7, .scope = 2, .end_block = 3};
    assert_true(sli_block_key_equals(key, key));
    assert_false(sli_block_key_equals(key, (sli_block_key){8, 2, 3}));
    assert_false(sli_block_key_equals(key, (sli_block_key){7, 1, 3}));
    assert_false(sli_block_key_equals(key, (sli_block_key){7, 2, 4}));
}

/* What is shared ends with the ids or with the prompt, whichever comes first. */
static void shares_whole_blocks_of_ids_within_the_prompt(void **state) {
    (void)state;
    const uint64_t ids[] = {70, 71, 72};
    sli_content_view view = {.content = {ids, 3, 4, 5}, .request = 9, .prompt_tokens = 10};
    assert_int_equal(sli_content_shared_blocks(&view, 1), 10); /* the last unit is partial */
    assert_int_equal(sli_content_shared_blocks(&view, 3), 3);
    assert_int_equal(sli_content_shared_blocks(&view, 5), 2);
    assert_int_equal(sli_content_shared_blocks(&view, 11), 0);
    view.content.id_count = 2; /* the ids end before the prompt does */
    assert_int_equal(sli_content_shared_blocks(&view, 1), 8);
    assert_int_equal(sli_content_shared_blocks(&view, 3), 2);
    view.content = (sl_content){0};
    assert_int_equal(sli_content_shared_blocks(&view, 1), 0);
}

/* ---- Agreements ---- */

enum { PROMPTS = 6, MAX_UNITS = 12 };

typedef struct prompt {
    uint64_t ids[MAX_UNITS];
    sli_content_view view;
} prompt;

/* The id of a unit spells the path to it, so that ids are prefix-cumulative by construction; the
 * last one says how far it is filled, as other contents would. */
static void draw_prompt(sli_rng *rng, int64_t unit_tokens, prompt *drawn) {
    int64_t count = 1 + (int64_t)sli_rng_below(rng, MAX_UNITS);
    int64_t last_tokens = 1 + (int64_t)sli_rng_below(rng, (uint64_t)unit_tokens);
    uint64_t path = 0;
    for (int64_t i = 0; i < count; i++) {
        path = path * 3 + 1 + (sli_rng_below(rng, 8) == 0);
        drawn->ids[i] = path << 10;
    }
    drawn->ids[count - 1] += (uint64_t)(last_tokens % unit_tokens);
    drawn->view = (sli_content_view){
        .content = {drawn->ids, count, unit_tokens, 1},
        .prompt_tokens = (count - 1) * unit_tokens + last_tokens,
    };
}

/* Token by token: each is known by the id that it lies in. */
static int64_t common_tokens(const sli_content_view *a, const sli_content_view *b) {
    int64_t unit_tokens = a->content.id_tokens;
    int64_t token = 0;
    while (token < a->prompt_tokens && token < b->prompt_tokens &&
           a->content.ids[token / unit_tokens] == b->content.ids[token / unit_tokens]) {
        token++;
    }
    return token;
}

static int64_t min_of(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static void check_agreement(const sli_content_view *a, const sli_content_view *b,
                            int64_t block_tokens) {
    int64_t most_blocks = min_of(sli_content_shared_blocks(a, block_tokens),
                                 sli_content_shared_blocks(b, block_tokens));
    int64_t common_blocks = min_of(common_tokens(a, b) / block_tokens, most_blocks);
    int64_t stride = 1 + most_blocks / 16;
    for (int64_t from = 0; from <= most_blocks; from += stride) {
        int64_t agreeing = common_blocks > from ? common_blocks - from : 0;
        assert_int_equal(
            sli_content_agreement(&a->content, &b->content, from, most_blocks, block_tokens),
            agreeing);
        int64_t half = from + (most_blocks - from) / 2;
        assert_int_equal(sli_content_agreement(&a->content, &b->content, from, half, block_tokens),
                         min_of(agreeing, half - from));
    }
}

/* Exact whatever the block size is to the unit. */
static void agrees_on_the_common_tokens_at_any_block_size(void **state) {
    (void)state;
    const int64_t units_tokens[] = {1, 7, 16, 512};
    for (size_t i = 0; i < sizeof units_tokens / sizeof units_tokens[0]; i++) {
        sli_rng rng;
        sli_rng_init(&rng, 1, "test-agreement", 0, i);
        prompt prompts[PROMPTS];
        for (int p = 0; p < PROMPTS; p++) {
            draw_prompt(&rng, units_tokens[i], &prompts[p]);
        }
        for (int64_t block_tokens = 1; block_tokens <= 1024; block_tokens++) {
            for (int p = 0; p < PROMPTS * PROMPTS; p++) {
                check_agreement(&prompts[p / PROMPTS].view, &prompts[p % PROMPTS].view,
                                block_tokens);
            }
        }
    }
}

/* Ids of 6 tokens against ids of 3 that happen to be equal where blocks of 2 end: 1, 3, 5, 7. */
static void compares_block_by_block_where_units_differ_in_length(void **state) {
    (void)state;
    const uint64_t long_ids[] = {1, 2};
    const uint64_t short_ids[] = {1, 1, 3, 4};
    const sl_content a = {long_ids, 2, 6, 1};
    const sl_content b = {short_ids, 4, 3, 1};
    assert_int_equal(sli_content_agreement(&a, &b, 0, 6, 2), 3);
    assert_int_equal(sli_content_agreement(&a, &b, 1, 2, 2), 1);
    assert_int_equal(sli_content_agreement(&b, &a, 0, 6, 2), 3);
}

static void nothing_agrees_across_scopes(void **state) {
    (void)state;
    const uint64_t ids[] = {1, 2};
    const sl_content a = {ids, 2, 8, 1};
    const sl_content b = {ids, 2, 8, 2};
    assert_int_equal(sli_content_agreement(&a, &a, 0, 4, 4), 4);
    assert_int_equal(sli_content_agreement(&a, &b, 0, 4, 4), 0);
    assert_int_equal(sli_content_agreement(&a, &a, 2, 2, 4), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_a_block_by_the_unit_of_its_last_token),
        cmocka_unit_test(keys_are_equal_in_all_fields_or_not_at_all),
        cmocka_unit_test(shares_whole_blocks_of_ids_within_the_prompt),
        cmocka_unit_test(agrees_on_the_common_tokens_at_any_block_size),
        cmocka_unit_test(compares_block_by_block_where_units_differ_in_length),
        cmocka_unit_test(nothing_agrees_across_scopes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
