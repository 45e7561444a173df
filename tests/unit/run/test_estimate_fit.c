/* The memory of a rank: what lies in it, in pages as of a run, and how many requests fit. */
#include "models.h"

#include "kv/budget.h"
#include "kv/layout_held.h"
#include "run/deployment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])
#define KI              INT64_C(1024)
#define MI              (KI * 1024)
#define GI              (MI * 1024)

/* ---- The memory of a rank ---- */

/* The rule of a run, with the default keys of a scenario. */
static int64_t requests_of_a_run(const sli_estimate_query *query) {
    sli_memory_config config = {0};
    sli_arena arena = {0};
    sli_diag diag = {0};
    sli_node *root = NULL;
    assert_int_equal(sli_tree_read_text(&arena, "m.yaml", "{}", 2, &diag, &root), SL_OK);
    assert_int_equal(sli_schema_resolve(&arena, &sli_memory_section, NULL, root, &diag, &config),
                     SL_OK);
    sli_diag_fini(&diag);
    sli_arena_fini(&arena);
    sli_layout layout;
    char why[128];
    sli_budget_query rule = {
        .architecture = query->architecture,
        .device = query->device,
        .weights = sli_estimate_weight_formats(query),
        .layout = &layout,
        .options = {.cache = query->cache,
                    .block_tokens = 16,
                    .tp = query->placement.tp,
                    .max_batched_tokens = 8192,
                    .max_model_tokens = query->tokens},
        .max_seqs = 256,
    };
    assert_int_equal(sli_layout_make(query->architecture, &rule.options, &layout, why, sizeof why),
                     SL_OK);
    sli_budget budget;
    sli_budget_compute(&config, &rule, &budget);
    return budget.blocks / ((query->tokens + 15) / 16);
}

/* What is not asked for is as in a scenario that does not say it. */
static void has_the_defaults_of_a_scenario(void **state) {
    (void)state;
    static const char text[] =
        "model: llama-3.1-8b\n"
        "hardware: h200\n"
        "workload: {source: closed, concurrency: 1, requests: 1, prompt: {fixed: 9 tokens}, "
        "output: {fixed: 9 tokens}}\n";
    sli_scenario_file file;
    sli_deployment run;
    sli_diag said = {0};
    assert_int_equal(sli_scenario_read_text("s.yaml", text, NULL, 0, &said, &file), SL_OK);
    assert_int_equal(sli_deployment_create(&file, &said, &run), SL_OK);
    const sli_scenario *scenario = &file.values;
    sli_estimate_query query = query_of("llama-3.1-8b", 100, 1);
    query.device = find_device("h200");
    assert_int_equal(query.block_tokens, scenario->engine.block_tokens);
    assert_int_equal(query.max_batched_tokens, scenario->engine.max_batched_tokens);
    assert_ptr_equal(query.cache, &sli_cache_formats[scenario->model.kv]);
    assert_null(query.weights);
    assert_int_equal(scenario->model.weights, 0);
    assert_int_equal(query.window_pages, scenario->memory.window_pages);
    assert_int_equal(query.state_saves, scenario->prefix.states);
    assert_null(query.kernel);
    assert_int_equal(scenario->attention.kernel, 0);
    assert_int_equal(query.decode_way, scenario->attention.decode_way);
    assert_int_equal(query.prefill_way, scenario->attention.prefill_way);
    assert_int_equal(query.placement.tp, scenario->replicas.tp);
    assert_int_equal(query.placement.pp, scenario->replicas.pp);
    sli_estimate_fit fit = estimate_of(&query).fit;
    assert_int_equal(fit.usable_bytes, run.budget.usable_bytes);
    assert_int_equal(fit.activation_bytes, run.budget.activation_bytes);
    assert_int_equal(fit.graphs_bytes, run.budget.graphs_bytes);
    assert_int_equal(fit.buffers_bytes + fit.other_bytes, run.budget.other_bytes);
    assert_int_equal(fit.pages, run.budget.blocks);
    sli_deployment_destroy(&run);
    sli_scenario_close(&file);
    sli_diag_fini(&said);
}

static void has_the_room_of_a_run(void **state) {
    (void)state;
    static const char *const models[] = {"llama-3.1-8b", "qwen3-32b"};
    static const char *const devices[] = {"h100-sxm", "h200", "a100-40g"};
    static const int64_t lengths[] = {1, 16, 17, 1000, 32768};
    for (size_t i = 0; i < 2 * 3 * 5 * 4; i++) {
        sli_estimate_query query = query_of(models[i % 2], lengths[i / 6 % 5], 1);
        query.device = find_device(devices[i / 2 % 3]);
        query.placement.tp = INT64_C(1) << (i / 30);
        assert_int_equal(estimate_of(&query).fit.max_requests, requests_of_a_run(&query));
    }
}

/* Also for what no run can hold yet. */
static void one_request_more_does_not_fit(void **state) {
    (void)state;
    static const char *const models[] = {"qwen3-32b", "qwen3.5-9b", "gemma-4-31b", "mamba-2-2.7b",
                                         "gpt-oss-20b"};
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        sli_estimate_query query = query_of(models[i], 5000, 1);
        query.device = find_device("h200");
        query.shared_tokens = 3000;
        query.requests = estimate_of(&query).fit.max_requests;
        assert_true(query.requests >= 1);
        sli_estimate_fit most = estimate_of(&query).fit;
        assert_true(most.is_met && most.cache_bytes <= most.room_bytes);
        query.requests++;
        sli_estimate_fit more = estimate_of(&query).fit;
        assert_true(!more.is_met && more.cache_bytes > more.room_bytes);
    }
}

static sli_estimate_fit fit_at(const char *model, sli_placement placement) {
    sli_estimate_query query = query_of(model, 32 * KI, 1);
    query.device = find_device("h200");
    query.placement = placement;
    return estimate_of(&query).fit;
}

static int64_t rank_bytes(const char *model, int64_t tp, int64_t pp) {
    return fit_at(model, (sli_placement){tp, pp, 1, 1, 1}).cache_bytes;
}

static void ranks_share_heads_and_copy_the_last(void **state) {
    (void)state;
    assert_int_equal(rank_bytes("gqa", 1, 1), 4 * GI);
    assert_int_equal(rank_bytes("gqa", 8, 1), GI / 2);
    assert_int_equal(rank_bytes("gqa", 16, 1), GI / 2);
    assert_int_equal(rank_bytes("mqa", 8, 1), rank_bytes("mqa", 1, 1));
    assert_int_equal(rank_bytes("deepseek-v3", 8, 1), 32 * KI * 70272);
}

/* 32 Ki tokens over four ranks are 8 Ki; so are those of 3 that are not divided, rounded up. */
static void ranks_share_the_context(void **state) {
    (void)state;
    assert_int_equal(fit_at("gqa", (sli_placement){1, 1, 1, 4, 1}).cache_bytes, GI);
    assert_int_equal(fit_at("gqa", (sli_placement){2, 1, 1, 4, 1}).cache_bytes, GI / 2);
    assert_int_equal(fit_at("deepseek-v3", (sli_placement){1, 1, 1, 4, 1}).cache_bytes,
                     8 * KI * 70272);
    assert_int_equal(fit_at("gqa", (sli_placement){1, 1, 1, 3, 1}).cache_bytes, 10928 * 128 * KI);
}

/* Two copies of the attention have 3 of 5 requests at most, and together twice the room of one. */
static void copies_share_the_requests(void **state) {
    (void)state;
    sli_estimate_query query = query_of("gqa", 32 * KI, 5);
    query.device = find_device("h200");
    sli_estimate_fit one = estimate_of(&query).fit;
    query.placement.dp = 2;
    sli_estimate_fit two = estimate_of(&query).fit;
    assert_int_equal(one.cache_bytes, 5 * 4 * GI);
    assert_int_equal(two.cache_bytes, 3 * 4 * GI);
    assert_int_equal(two.max_requests, 2 * one.max_requests);
    assert_int_equal(two.weights_bytes, one.weights_bytes);
}

/* KIVI in 2 bits, 32 layers of 8 heads: a block of 16 tokens are 16 x 32 x 8 x (48 + 48) B, and
 * 127 keys and values in bf16 of 127 tokens, 128 of more, take 43 pages of that size. */
static void rows_that_wait_have_pages_of_their_own(void **state) {
    (void)state;
    sli_estimate_query query = query_of("gqa", 127, 1);
    query.cache = sli_cache_format_find("kivi2");
    query.device = find_device("h200");
    assert_int_equal(estimate_of(&query).fit.page_bytes, 393216);
    assert_int_equal(estimate_of(&query).fit.request_pages, 8 + 43);
    query.tokens = 1000;
    assert_int_equal(estimate_of(&query).fit.request_pages, 63 + 43);
}

static void the_fullest_stage_counts(void **state) {
    (void)state;
    assert_int_equal(rank_bytes("gqa", 1, 4), GI);
    assert_int_equal(rank_bytes("gqa", 2, 32), 64 * MI);
    /* of 61 layers the second of two stages has 30, but more of the experts */
    assert_int_equal(rank_bytes("deepseek-v3", 1, 2), 32 * KI * 30 * 1152);
    assert_int_equal(fit_at("deepseek-v3", (sli_placement){1, 2, 1, 1, 1}).stage, 1);
    /* of Gemma's 60 stages the fullest has a full layer */
    assert_int_equal(rank_bytes("gemma-4-31b", 1, 60), 32 * KI * 8192);
}

/* ---- Pages ---- */

/* gpt-oss-20b, 32 requests of 8,192 tokens: 6.09375 GiB in all. 12 layers of a window of 128 tokens
 * hold 9 blocks of 16 at their fullest, all 513 of a window and a step of 8,192, or all 512. */
static void windows_are_held_as_they_are_asked_for(void **state) {
    (void)state;
    static const struct {
        sli_window_pages window_pages;
        int64_t blocks;
    } cases[] = {{SLI_WINDOW_FREED, 9}, {SLI_WINDOW_RESERVED, 513}, {SLI_WINDOW_IGNORED, 512}};
    const int64_t block_bytes = 12 * 16 * 2048;
    const int64_t logical_bytes = INT64_C(32) * (512 + 8) * block_bytes;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        sli_estimate_query query = query_of("gpt-oss-20b", 8192, 32);
        query.device = find_device("h200");
        query.window_pages = cases[i].window_pages;
        sli_estimate estimate = estimate_of(&query);
        int64_t pages_bytes = 32 * (512 + cases[i].blocks) * block_bytes;
        assert_int_equal(estimate.cache.total_bytes, logical_bytes);
        assert_int_equal(estimate.fit.cache_bytes, pages_bytes);
        assert_int_equal(estimate.fit.wasted_bytes, pages_bytes - logical_bytes);
    }
}

/* A block of 16 tokens asked for, 528 taken for the states of Qwen3.5. A page is one of 8 layers,
 * so 24 layers of states take 3; of 100 tokens there are 4 pages, and of 1,000 the states are there
 * twice while the second block begins. */
static void states_make_blocks_larger(void **state) {
    (void)state;
    sli_estimate_query query = query_of("qwen3.5-9b", 100, 2);
    query.device = find_device("h200");
    sli_estimate_fit fit = estimate_of(&query).fit;
    assert_int_equal(fit.block_tokens, 528);
    assert_int_equal(fit.page_bytes, 8 * 528 * 4096);
    assert_int_equal(fit.state_bytes, 2 * 51511296);
    assert_int_equal(fit.request_pages, 1 + 3);
    assert_int_equal(fit.cache_bytes, 2 * fit.request_pages * fit.page_bytes);
    assert_int_equal(fit.wasted_bytes, fit.cache_bytes - 2 * (51511296 + 100 * 32768));
    assert_int_equal(fit.pages, fit.room_bytes / fit.page_bytes);
    query.tokens = 1000;
    assert_int_equal(estimate_of(&query).fit.request_pages, 2 + 2 * 3);
}

/* Blocks are what was asked for where nothing is in the way. */
static void blocks_round_up(void **state) {
    (void)state;
    static const int64_t blocks[] = {1, 16, 256, 65536};
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        sli_estimate_query query = query_of("gqa", 1000, 1);
        query.device = find_device("h200");
        query.block_tokens = blocks[i];
        sli_estimate_fit fit = estimate_of(&query).fit;
        int64_t held = (1000 + blocks[i] - 1) / blocks[i];
        assert_int_equal(fit.block_tokens, blocks[i]);
        assert_int_equal(fit.page_bytes, blocks[i] * 128 * KI);
        assert_int_equal(fit.request_pages, held);
        assert_int_equal(fit.wasted_bytes, (held * blocks[i] - 1000) * 128 * KI);
    }
}

/* A prefix is shared in whole blocks, and not at all where windows are reserved. */
static void whole_blocks_of_a_prefix_are_shared(void **state) {
    (void)state;
    sli_estimate_query query = query_of("gqa", 1000, 3);
    query.device = find_device("h200");
    query.shared_tokens = 100;
    assert_int_equal(estimate_of(&query).fit.cache_bytes, (6 + 3 * (63 - 6)) * 16 * 128 * KI);
    /* over four ranks of the context: 10 of the 40 blocks of 640 tokens, 16 of all */
    query.shared_tokens = 640;
    query.placement.cp = 4;
    assert_int_equal(estimate_of(&query).fit.cache_bytes, (10 + 3 * (16 - 10)) * 16 * 128 * KI);
    query = query_of("gpt-oss-20b", 1000, 3);
    query.device = find_device("h200");
    int64_t apart_bytes = estimate_of(&query).fit.cache_bytes;
    query.shared_tokens = 96;
    assert_int_equal(estimate_of(&query).fit.cache_bytes, apart_bytes - 2 * 6 * 12 * 16 * 2048);
    query.window_pages = SLI_WINDOW_RESERVED;
    int64_t reserved_bytes = estimate_of(&query).fit.cache_bytes;
    query.shared_tokens = 0;
    assert_int_equal(estimate_of(&query).fit.cache_bytes, reserved_bytes);
}

/* Half of the 24 layers have a window of 128 tokens. Reserved it has room for a step more, at most
 * for the context: ceil((127 + 2,048) / 16) + 1 = 137 pages of 384 KiB beside the 512 of the
 * others, 7.6055 GiB, or 1,025 pages and 12.0117 GiB with steps of 8,192 (vLLM's rule). */
static void reserved_windows_go_by_the_tokens_of_a_step(void **state) {
    (void)state;
    sli_estimate_query query = query_of("gpt-oss-20b", 8192, 32);
    query.device = find_device("h100-sxm");
    query.window_pages = SLI_WINDOW_RESERVED;
    assert_int_equal(estimate_of(&query).fit.cache_bytes, 32 * 1025 * 384 * KI);
    query.max_batched_tokens = 2048;
    assert_int_equal(estimate_of(&query).fit.cache_bytes, 32 * (512 + 137) * 384 * KI);
}

/* ---- Besides the cache ---- */

/* Every byte of a rank is said; buffers come out of what is kept for others while they find place:
 * 8,192 tokens x 7,168 x 2 B on two sides for each of 16 copies do not. */
static void the_terms_of_a_rank_add_up(void **state) {
    (void)state;
    const sli_placement places[] = {
        sli_placement_alone, {8, 1, 1, 1, 1}, {8, 2, 1, 1, 1}, {1, 1, 16, 1, 16}, {4, 1, 2, 2, 16}};
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        sli_estimate_query query = query_of("deepseek-v3", 32 * KI, 1);
        query.device = find_device("h200");
        query.placement = places[i];
        query.kernel = sli_attention_kernel_find("split_kv");
        sli_estimate_fit fit = estimate_of(&query).fit;
        int64_t others = fit.buffers_bytes + fit.other_bytes;
        assert_int_equal(others, fit.buffers_bytes > GI / 2 ? fit.buffers_bytes : GI / 2);
        assert_int_equal(fit.usable_bytes - fit.weights_bytes - fit.activation_bytes -
                             fit.workspace_bytes - fit.expanded_bytes - others - GI,
                         fit.room_bytes);
        assert_int_equal(fit.buffers_bytes > GI / 2, places[i].dp * places[i].cp > 1);
    }
}

/* 128 heads of 320 elements for 32,768 tokens, a sixteenth of it on each of 16 ranks. */
static void expanded_latents_take_room_when_asked_about(void **state) {
    (void)state;
    sli_estimate_query query = query_of("deepseek-v3", 32 * KI, 2);
    query.device = find_device("h200");
    query.placement.tp = 16;
    assert_int_equal(estimate_of(&query).fit.expanded_bytes, 0);
    query.prefill_way = SLI_LATENT_EXPANDED;
    assert_int_equal(estimate_of(&query).fit.expanded_bytes, 32 * KI * 8 * 320 * 2);
    query.decode_way = SLI_LATENT_EXPANDED;
    assert_int_equal(estimate_of(&query).fit.expanded_bytes, 2 * 32 * KI * 8 * 320 * 2);
    query.decode_way = SLI_LATENT_ABSORBED;
    query.prefill_way = SLI_LATENT_ABSORBED;
    assert_int_equal(estimate_of(&query).fit.expanded_bytes, 0);
}

/* A chunk of 8,192 queries has a quarter of the scores of 32,768. */
static void chunks_bound_the_scores(void **state) {
    (void)state;
    sli_estimate_query query = query_of("deepseek-v3", 32 * KI, 1);
    query.device = find_device("h200");
    query.kernel = sli_attention_kernel_find("naive");
    assert_int_equal(estimate_of(&query).fit.workspace_bytes, 256 * GI);
    query.chunk_tokens = 8 * KI;
    assert_int_equal(estimate_of(&query).fit.workspace_bytes, 64 * GI);
    query.chunk_tokens = 64 * KI;
    assert_int_equal(estimate_of(&query).fit.workspace_bytes, 256 * GI);
    query.placement.tp = 8;
    assert_int_equal(estimate_of(&query).fit.workspace_bytes, 32 * GI);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_the_defaults_of_a_scenario),
        cmocka_unit_test(has_the_room_of_a_run),
        cmocka_unit_test(one_request_more_does_not_fit),
        cmocka_unit_test(ranks_share_heads_and_copy_the_last),
        cmocka_unit_test(ranks_share_the_context),
        cmocka_unit_test(copies_share_the_requests),
        cmocka_unit_test(rows_that_wait_have_pages_of_their_own),
        cmocka_unit_test(the_fullest_stage_counts),
        cmocka_unit_test(windows_are_held_as_they_are_asked_for),
        cmocka_unit_test(states_make_blocks_larger),
        cmocka_unit_test(blocks_round_up),
        cmocka_unit_test(whole_blocks_of_a_prefix_are_shared),
        cmocka_unit_test(reserved_windows_go_by_the_tokens_of_a_step),
        cmocka_unit_test(the_terms_of_a_rank_add_up),
        cmocka_unit_test(expanded_latents_take_room_when_asked_about),
        cmocka_unit_test(chunks_bound_the_scores),
    };
    return cmocka_run_group_tests(tests, NULL, free_models);
}
