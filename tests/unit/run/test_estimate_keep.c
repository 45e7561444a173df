/* What methods leave that throw tokens out, against the layouts of runs. */
#include "models.h"

#include "kv/layout_held.h"
#include "run/keep.h"
#include "run/plugins.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])
#define KI              INT64_C(1024)

/* ---- Tokens thrown out ---- */

static sli_arena cut_arena;
static sli_plugins cut_plugins;

/* Of `none` and the methods that are built in. */
static const sli_named_type *keep_types(size_t *count) {
    sli_diag said = {0};
    if (cut_plugins.types[0] == NULL) {
        assert_int_equal(sli_plugins_open(&cut_arena, NULL, (sli_mark){0}, &said, &cut_plugins),
                         SL_OK);
    }
    sli_diag_fini(&said);
    return sli_keep_types(&cut_plugins, count);
}

static int close_methods(void **state) {
    sli_plugins_close(&cut_plugins);
    sli_arena_fini(&cut_arena);
    return free_models(state);
}

/* The query of what a method leaves, with the settings that it has when nothing is said. */
static sli_estimate_query cut_query(const char *model, const sli_named_type *type, int64_t tokens,
                                    int64_t requests, sli_named *keep) {
    sli_estimate_query query = query_of(model, tokens, requests);
    sli_diag said = {0};
    sli_node *root = NULL;
    *keep = (sli_named){.type = type,
                        .values = sli_arena_alloc(&cut_arena, type->section->struct_size)};
    assert_int_equal(sli_tree_read_text(&cut_arena, "k.yaml", "{}", 2, &said, &root), SL_OK);
    assert_int_equal(sli_schema_resolve(&cut_arena, type->section, NULL, root, &said, keep->values),
                     SL_OK);
    assert_int_equal(
        sli_keep_apply(&cut_arena, keep, SLI_GROWTH_TOKENS_MAX, &said, &query.architecture), SL_OK);
    sli_diag_fini(&said);
    return query;
}

static sli_estimate cut_estimate(const char *method, int64_t tokens, int64_t requests) {
    size_t count = 0;
    sli_named keep;
    const sli_named_type *types = keep_types(&count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(types[i].name, method) == 0) {
            sli_estimate_query query = cut_query("llama-3.1-8b", &types[i], tokens, requests,
                                                 &keep);
            query.device = find_device("h200");
            return estimate_of(&query);
        }
    }
    fail_msg("no method %s", method);
    return (sli_estimate){0};
}

/* Llama 3.1 8B: 128 KiB a row, 16 of them a page, 2,048 pages for all 32,768 tokens. H2O leaves 20
 * % of the 32,767 tokens of the prompt, StreamingLLM and Scissorhands 2,048, SnapKV 4,096 and the
 * one behind them; all but the second hold the whole prompt until it is computed. */
static void what_a_method_leaves_is_counted(void **state) {
    (void)state;
    static const struct {
        const char *method;
        int64_t rows;
        int64_t pages;
        bool has_prompt;
        double token_bytes;
    } cases[] = {{"h2o", 6554, 410, true, 0.0},
                 {"streaming_llm", 2048, 128, false, 0.0},
                 {"scissorhands", 2048, 128, true, 0.0},
                 {"snapkv", 4097, 257, true, 128.0 * KI},
                 {"pyramid_kv", 2049, 129, true, 128.0 * KI},
                 {"pyramid_infer", 9831, 615, false, 64.0 * KI}};
    const int64_t page_bytes = 16 * 128 * KI;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        sli_estimate estimate = cut_estimate(cases[i].method, 32 * KI, 3);
        sli_estimate_fit fit = estimate.fit;
        assert_int_equal(estimate.cache.request_bytes, cases[i].rows * 128 * KI);
        assert_true(estimate.cache.token_bytes == cases[i].token_bytes);
        assert_int_equal(fit.request_pages, cases[i].pages);
        assert_int_equal(fit.cache_bytes, 3 * cases[i].pages * page_bytes);
        assert_int_equal(fit.prompt_bytes,
                         cases[i].has_prompt ? (2048 - cases[i].pages) * page_bytes : 0);
        int64_t room_pages = fit.room_bytes / page_bytes - fit.prompt_bytes / page_bytes;
        assert_int_equal(fit.max_requests, room_pages / cases[i].pages);
    }
}

/* Every method and many lengths. The rows of a prompt are the sum of those of its layers; pages,
 * with what a prompt takes besides, are the most that a request of a run ever holds; a decode step
 * reads what there is, and counters of 4 bytes. */
static void methods_leave_what_a_run_has(void **state) {
    (void)state;
    size_t count = 0;
    sli_named keep;
    const sli_named_type *types = keep_types(&count);
    for (size_t i = 0; i < count; i++) {
        const sl_keep_policy *method = types[i].item;
        for (int64_t tokens = 1; method != NULL && tokens < 100000; tokens += tokens / 3 + 1) {
            sli_estimate_query query = cut_query("llama-3.1-8b", &types[i], tokens, 1, &keep);
            int64_t prompt_tokens = tokens > 1 ? tokens - 1 : 1;
            query.device = find_device("h200");
            sli_estimate estimate = estimate_of(&query);
            sli_layout run = layout_of_a_run(&query);
            assert_int_equal(estimate.fit.request_pages +
                                 estimate.fit.prompt_bytes / run.page_bytes,
                             sli_layout_request_peak_pages(&run, prompt_tokens, tokens, 1));
            int64_t rows = 0;
            for (int64_t layer = 0; layer < 32; layer++) {
                rows += sli_keep_layer_rows(&keep, layer, 32, prompt_tokens);
            }
            /* the last token, or the rounding of a layer */
            int64_t row_bytes = 2 * 8 * 128 * 2;
            int64_t held = estimate.cache.request_bytes;
            bool drops_many = method->rule(keep.values).drop_rows > 1;
            assert_true(drops_many || llabs(held / row_bytes - rows) <= 32);
            bool has_scores = method->work(keep.values).has_scores;
            int64_t score_bytes = has_scores ? held / row_bytes * 8 * 4 * 2 : 0;
            assert_true(estimate.step.cache_bytes == (double)(held + score_bytes));
        }
    }
}

static void what_a_method_leaves_is_not_shared(void **state) {
    (void)state;
    size_t count = 0;
    sli_named keep;
    const sli_named_type *types = keep_types(&count);
    for (size_t i = 0; i < count; i++) {
        if (types[i].item != NULL) {
            sli_diag said = {0};
            sli_estimate estimate;
            sli_estimate_query query = cut_query("llama-3.1-8b", &types[i], 1000, 4, &keep);
            query.shared_tokens = 500;
            assert_int_equal(estimate_of(&query).sharing.why, SLI_UNSHARED_KEPT);
            assert_int_equal(estimate_of(&query).cache.saved_bytes, 0);
            query.placement.cp = 2;
            assert_int_equal(sli_estimate_find(&query, &said, &estimate), SL_ERR_CONFIG);
            sli_diag_fini(&said);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_method_leaves_is_counted),
        cmocka_unit_test(methods_leave_what_a_run_has),
        cmocka_unit_test(what_a_method_leaves_is_not_shared),
    };
    return cmocka_run_group_tests(tests, NULL, close_methods);
}
