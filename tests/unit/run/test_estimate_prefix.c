/* What requests share of a prefix, by rows and as a run finds it. */
#include "models.h"

#include "kv/layout_held.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])
#define KI              INT64_C(1024)

/* ---- The shared prefix ---- */

/* Rows of positions (or of entries that end at one) that a sequence still keeps, by looking at each
 * position. */
static int64_t count_kept(const char *model, int64_t tokens, int64_t last) {
    int64_t rows = 0;
    for (int64_t at = 1; at <= last; at++) {
        bool is_kept = true;
        if (strcmp(model, "window") == 0) {
            is_kept = at > tokens - 7;
        } else if (strcmp(model, "chunk") == 0) {
            is_kept = (at - 1) / 5 == (tokens - 1) / 5;
        }
        rows += is_kept;
    }
    return rows;
}

/* A row of the small models is a key and a value of 2 B. */
static void shares_the_rows_of_the_prefix_that_are_left(void **state) {
    (void)state;
    static const char *const models[] = {"window", "chunk"};
    for (size_t m = 0; m < COUNT_OF(models); m++) {
        sli_estimate_query query = query_of(models[m], 1, 2);
        query.block_tokens = 1;
        for (query.tokens = 1; query.tokens < 40; query.tokens++) {
            for (query.shared_tokens = 0; query.shared_tokens < query.tokens;
                 query.shared_tokens++) {
                sli_estimate_cache cache = estimate_of(&query).cache;
                int64_t shared = count_kept(models[m], query.tokens, query.shared_tokens);
                int64_t kept = count_kept(models[m], query.tokens, query.tokens);
                assert_int_equal(cache.prefix_bytes, 4 * shared);
                assert_int_equal(cache.request_bytes, 4 * kept);
                assert_int_equal(cache.total_bytes, 4 * (2 * kept - shared));
            }
        }
    }
}

/* By hand, of 700 tokens that share 600, two blocks of 256: 30 x 128 entries of 1,024 B and as many
 * index keys of 256 B, 31 x 4 entries of 128 tokens, nothing of the window. Of 600 tokens and 599:
 * the rows 473 to 512 of the 61 windows besides. */
static void shares_compressed_entries_and_no_compressor_state(void **state) {
    (void)state;
    const int64_t entries = 30 * 128 * (1024 + 256) + 31 * 4 * 1024;
    sli_estimate_query query = query_of("deepseek-v4-pro", 700, 2);
    query.shared_tokens = 600;
    assert_int_equal(estimate_of(&query).cache.prefix_bytes, entries);
    query.tokens = 600;
    query.shared_tokens = 599;
    assert_int_equal(estimate_of(&query).cache.prefix_bytes, entries + 61 * 40 * 1024);
    query = query_of("mamba-2-2.7b", 200, 2);
    query.shared_tokens = 199;
    assert_int_equal(estimate_of(&query).cache.prefix_bytes, 0);
}

/* ---- What a run shares ---- */

/* Every way to keep it of every model: found are whole blocks where a run finds any, and pages are
 * those of a run. */
static void shares_and_holds_what_a_run_does(void **state) {
    (void)state;
    static const char *const formats[] = {"bf16", "fp8", "kivi2"};
    int64_t unshared_count[SLI_UNSHARED_STATES + 1] = {0};
    for (const sli_embedded *file = sli_model_files; file->name != NULL; file++) {
        for (int way = 0; way < 3 * 3 * 2; way++) {
            sli_estimate_query query = query_of(file->name, 32 * KI, 2);
            query.device = find_device("h200");
            query.cache = sli_cache_format_find(formats[way % 3]);
            query.window_pages = (sli_window_pages)(way / 3 % 3);
            query.state_saves = (sli_state_saves)(way / 9);
            query.shared_tokens = 20000;
            sli_layout run = layout_of_a_run(&query);
            sli_estimate estimate = estimate_of(&query);
            int64_t found = 20000 / run.align_tokens * run.align_tokens;
            assert_int_equal(estimate.sharing.tokens, run.is_shareable ? found : 0);
            assert_int_equal(estimate.sharing.why == SLI_UNSHARED_NOTHING, run.is_shareable);
            assert_true(run.is_shareable || estimate.cache.saved_bytes == 0);
            assert_int_equal(estimate.fit.page_bytes, run.page_bytes);
            assert_int_equal(estimate.fit.request_pages,
                             sli_layout_peak_pages(&run, query.tokens, 1));
            unshared_count[estimate.sharing.why]++;
        }
    }
    assert_true(unshared_count[SLI_UNSHARED_NOTHING] > 0);
    assert_true(unshared_count[SLI_UNSHARED_WAITING] > 0);
    assert_true(unshared_count[SLI_UNSHARED_WINDOWS] > 0);
    assert_true(unshared_count[SLI_UNSHARED_STATES] > 0);
    assert_int_equal(unshared_count[SLI_UNSHARED_SHORT], 0);
}

static sli_estimate_sharing sharing_of(const char *model, const char *format,
                                       sli_window_pages window_pages, sli_state_saves state_saves) {
    sli_estimate_query query = query_of(model, 1000, 2);
    query.cache = sli_cache_format_find(format);
    query.window_pages = window_pages;
    query.state_saves = state_saves;
    query.shared_tokens = 600;
    return estimate_of(&query).sharing;
}

static void says_why_nothing_is_shared(void **state) {
    (void)state;
    const sli_window_pages freed = SLI_WINDOW_FREED;
    const sli_window_pages reserved = SLI_WINDOW_RESERVED;
    const sli_state_saves saved = SLI_STATE_ALIGNED;
    const sli_state_saves none = SLI_STATE_NONE;
    assert_int_equal(sharing_of("gqa", "kivi2", freed, saved).why, SLI_UNSHARED_WAITING);
    assert_int_equal(sharing_of("gqa", "bf16", reserved, none).why, SLI_UNSHARED_NOTHING);
    assert_int_equal(sharing_of("gpt-oss-20b", "bf16", reserved, saved).why, SLI_UNSHARED_WINDOWS);
    assert_int_equal(sharing_of("gpt-oss-20b", "bf16", freed, none).why, SLI_UNSHARED_NOTHING);
    assert_int_equal(sharing_of("qwen3.5-9b", "bf16", reserved, none).why, SLI_UNSHARED_STATES);
    assert_int_equal(sharing_of("qwen3.5-9b", "bf16", reserved, saved).tokens, 528);
    /* a state of 2,146,304 B takes 117 blocks of 16 tokens of 1,152 B */
    assert_int_equal(sharing_of("qwen3.5-9b", "q4_0", freed, saved).why, SLI_UNSHARED_SHORT);
    assert_int_equal(sharing_of("qwen3.5-9b", "q4_0", freed, saved).block_tokens, 1872);
}

/* Qwen3.5 9B, 100 tokens: a block of 528, and of 24 layers of states, 8 a page, 3 pages. While a
 * block begins there are two states of each, if one is saved. */
static void saved_states_take_pages_of_their_own(void **state) {
    (void)state;
    sli_estimate_query query = query_of("qwen3.5-9b", 1000, 1);
    query.device = find_device("h200");
    assert_int_equal(estimate_of(&query).fit.request_pages, 2 + 2 * 3);
    query.state_saves = SLI_STATE_NONE;
    assert_int_equal(estimate_of(&query).fit.request_pages, 2 + 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_the_rows_of_the_prefix_that_are_left),
        cmocka_unit_test(shares_compressed_entries_and_no_compressor_state),
        cmocka_unit_test(shares_and_holds_what_a_run_does),
        cmocka_unit_test(says_why_nothing_is_shared),
        cmocka_unit_test(saved_states_take_pages_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, free_models);
}
