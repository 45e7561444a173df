/*
 * Sums over batches against what single rows and queries see, one by one.
 */
#include "model/batch_sums.h"

#include "batch_shape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* One of each kind; the first two need no sums. */
enum { GROWTHS = 7 };

static void make_growths(sli_growth growths[GROWTHS]) {
    growths[0] = sli_growth_constant(3);
    growths[1] = sli_growth_linear();
    growths[2] = sli_growth_capped(8);
    growths[3] = sli_growth_steps(4);
    growths[4] = sli_growth_capped_steps(4, 5);
    growths[5] = sli_growth_sawtooth(16);
    growths[6] = sli_growth_steps(1);
}

static sli_growth_list list_all(void) {
    sli_growth growths[GROWTHS];
    sli_growth_list list = {0};
    make_growths(growths);
    for (int i = 0; i < GROWTHS; i++) {
        assert_true(sli_growth_list_add(&list, &growths[i]));
    }
    return list;
}

static void growths_are_listed_once(void **state) {
    (void)state;
    sli_growth_list list = list_all();
    assert_int_equal(list.count, 4);
    sli_growth again = sli_growth_capped(8);
    assert_true(sli_growth_list_add(&list, &again));
    assert_int_equal(list.count, 4);
}

/* Growths that differ in one number only are different. */
static void a_full_list_takes_no_more(void **state) {
    (void)state;
    sli_growth_list list = {0};
    for (int i = 0; i < SL_VISIBLE_MAX; i++) {
        sli_growth growth = sli_growth_capped(100 + i);
        assert_true(sli_growth_list_add(&list, &growth));
    }
    sli_growth more = sli_growth_capped_steps(2, 100);
    sli_growth constant = sli_growth_constant(7);
    sli_growth linear = sli_growth_linear();
    assert_false(sli_growth_list_add(&list, &more));
    assert_int_equal(list.count, SL_VISIBLE_MAX);
    assert_true(sli_growth_list_add(&list, &constant));
    assert_true(sli_growth_list_add(&list, &linear));
    assert_true(sli_growth_list_add(&list, &list.rows[3]));
}

/* A small generator; the batches only have to differ. */
static int64_t draw(uint64_t *state, int64_t below) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((*state >> 33) % (uint64_t)below);
}

typedef struct batch {
    int decodes;
    int chunks;
    int64_t decode_tokens[8];
    int64_t prefix_tokens[8];
    int64_t chunk_tokens[8];
    sl_batch_shape shape;
} batch;

static batch draw_batch(uint64_t *state, const sli_growth_list *list, int chunks) {
    batch drawn = {.decodes = (int)draw(state, 8), .chunks = chunks};
    for (int i = 0; i < drawn.decodes; i++) {
        drawn.decode_tokens[i] = 2 + draw(state, 100);
        add_decode_row(&drawn.shape, list, drawn.decode_tokens[i]);
    }
    for (int i = 0; i < drawn.chunks; i++) {
        drawn.prefix_tokens[i] = draw(state, 3) == 0 ? 0 : draw(state, 100);
        drawn.chunk_tokens[i] = 2 + draw(state, 60);
        add_prefill_chunk(&drawn.shape, list, drawn.prefix_tokens[i], drawn.chunk_tokens[i]);
    }
    return drawn;
}

static double value_of(sli_sum_term term, const sli_batch_sums *sums) {
    return term.factor * sums->values[term.sum];
}

static void sums_are_what_rows_and_queries_see(void **state) {
    (void)state;
    sli_growth_list list = list_all();
    sli_growth growths[GROWTHS];
    make_growths(growths);
    uint64_t random = 1;
    for (int round = 0; round < 200; round++) {
        batch drawn = draw_batch(&random, &list, (int)draw(&random, 8));
        sli_batch_sums sums;
        sli_batch_sums_make(&list, &drawn.shape, &sums);
        for (int g = 0; g < GROWTHS; g++) {
            int64_t seen = 0;
            int64_t pairs = 0;
            for (int i = 0; i < drawn.decodes; i++) {
                seen += sli_growth_at(&growths[g], drawn.decode_tokens[i]);
            }
            for (int i = 0; i < drawn.chunks; i++) {
                for (int64_t t = 1; t <= drawn.chunk_tokens[i]; t++) {
                    pairs += sli_growth_at(&growths[g], drawn.prefix_tokens[i] + t);
                }
            }
            assert_true(value_of(sli_sum_of_decodes(&list, &growths[g]), &sums) == (double)seen);
            assert_true(value_of(sli_sum_of_pairs(&list, &growths[g]), &sums) == (double)pairs);
        }
        assert_true(sums.values[SLI_SUM_CHUNK_PREFIX] + sums.values[SLI_SUM_CHUNK_TOKENS] ==
                    sums.values[SLI_SUM_CHUNK_KEYS]);
    }
}

/* Keys that one of the queries of a chunk sees when each sees the latest `growth` of them. */
static int64_t union_of_latest(const sli_growth *growth, int64_t prefix_tokens,
                               int64_t chunk_tokens) {
    int64_t first = prefix_tokens + chunk_tokens;
    for (int64_t t = prefix_tokens + 1; t <= prefix_tokens + chunk_tokens; t++) {
        int64_t oldest = t - sli_growth_at(growth, t);
        first = oldest < first ? oldest : first;
    }
    return prefix_tokens + chunk_tokens - first;
}

/* Of one chunk a window is exact; an attention chunk is where it lies worst. Over several chunks
 * both bound from above. */
static void chunks_read_their_windows(void **state) {
    (void)state;
    sli_growth_list list = list_all();
    sli_growth window = sli_growth_capped(8);
    sli_growth chunked = sli_growth_sawtooth(16);
    uint64_t random = 2;
    for (int round = 0; round < 300; round++) {
        batch drawn = draw_batch(&random, &list, 1 + round % 3);
        sli_batch_sums sums;
        sli_batch_sums_make(&list, &drawn.shape, &sums);
        double in_window = value_of(sli_sum_of_chunk_rows(&list, &window, &window), &sums);
        double in_chunk = value_of(sli_sum_of_chunk_rows(&list, &chunked, &chunked), &sums);
        int64_t window_rows = 0;
        int64_t chunk_rows = 0;
        for (int i = 0; i < drawn.chunks; i++) {
            int64_t prefix = drawn.prefix_tokens[i];
            int64_t chunk = drawn.chunk_tokens[i];
            window_rows += union_of_latest(&window, prefix, chunk);
            chunk_rows += union_of_latest(&chunked, prefix, chunk);
        }
        assert_true(in_window >= (double)window_rows);
        assert_true(in_chunk >= (double)chunk_rows);
        assert_true(in_window <= sums.values[SLI_SUM_CHUNK_KEYS]);
        if (drawn.chunks == 1) {
            assert_true(in_window == (double)window_rows);
            assert_true(in_chunk <= (double)chunk_rows + 15);
        }
    }
}

static double rows_of_chunk(const sli_growth *read, const sli_growth *kept, int64_t prefix_tokens,
                            int64_t chunk_tokens) {
    sli_growth_list list = {0};
    assert_true(sli_growth_list_add(&list, read));
    sl_batch_shape shape = {0};
    add_prefill_chunk(&shape, &list, prefix_tokens, chunk_tokens);
    sli_batch_sums sums;
    sli_batch_sums_make(&list, &shape, &sums);
    return value_of(sli_sum_of_chunk_rows(&list, read, kept), &sums);
}

/* 2,048 chosen of all: two queries cannot choose more than 4,096, and no chunk more than there are.
 * One entry for 4 tokens, 1,024 chosen: 10 queries over 40,000 choose 10,240 of 10,002.5 at most.
 */
static void chunks_read_what_their_queries_choose(void **state) {
    (void)state;
    sli_growth top = sli_growth_capped(2048);
    sli_growth all = sli_growth_linear();
    assert_true(rows_of_chunk(&top, &all, 100000, 2) == 2 * 2048);
    assert_true(rows_of_chunk(&top, &all, 100000, 1000) == 101000);
    assert_true(rows_of_chunk(&top, &all, 0, 1000) == 1000);
    sli_growth top_entries = sli_growth_capped_steps(4, 1024);
    sli_growth entries = sli_growth_steps(4);
    assert_true(rows_of_chunk(&top_entries, &entries, 40000, 10) == 40010 / 4.0);
    assert_true(rows_of_chunk(&top_entries, &entries, 40000, 9) == 9 * 1024);
}

/* All keys; every fourth; a state of 3 rows; the window of a layer that keeps nothing itself. */
static void chunks_read_all_of_what_nothing_bounds(void **state) {
    (void)state;
    sli_growth all = sli_growth_linear();
    sli_growth fourth = sli_growth_steps(4);
    sli_growth fixed = sli_growth_constant(3);
    sli_growth nothing = sli_growth_constant(0);
    sli_growth window = sli_growth_capped(512);
    assert_true(rows_of_chunk(&all, &all, 1000, 50) == 1050);
    assert_true(rows_of_chunk(&all, &nothing, 1000, 50) == 1050);
    assert_true(rows_of_chunk(&fourth, &fourth, 1000, 50) == 1050 / 4.0);
    assert_true(rows_of_chunk(&fixed, &fixed, 1000, 50) == 3);
    assert_true(rows_of_chunk(&window, &nothing, 1000, 50) == 50 + 511);
}

static void counts_add_up_their_terms(void **state) {
    (void)state;
    sli_batch_sums sums = {.values = {[SLI_SUM_DECODES] = 3, [SLI_SUM_DECODE_KEYS] = 100}};
    sli_linear_count count = {0};
    assert_true(sli_linear_at(&count, &sums) == 0);
    sli_linear_add(&count, (sli_sum_term){SLI_SUM_DECODES, 2}, 5);
    sli_linear_add(&count, (sli_sum_term){SLI_SUM_DECODE_KEYS, 1}, 7);
    sli_linear_add(&count, (sli_sum_term){SLI_SUM_DECODES, 1}, 4);
    sli_linear_add(&count, (sli_sum_term){SLI_SUM_CHUNKS, 1}, 0);
    assert_true(sli_linear_at(&count, &sums) == 14 * 3 + 7 * 100);
    assert_int_equal(count.term_count, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(growths_are_listed_once),
        cmocka_unit_test(a_full_list_takes_no_more),
        cmocka_unit_test(sums_are_what_rows_and_queries_see),
        cmocka_unit_test(chunks_read_their_windows),
        cmocka_unit_test(chunks_read_what_their_queries_choose),
        cmocka_unit_test(chunks_read_all_of_what_nothing_bounds),
        cmocka_unit_test(counts_add_up_their_terms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
