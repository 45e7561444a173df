#include "models.h"

#include "kv/budget.h"
#include "kv/layout_held.h"
#include "model/params.h"
#include "run/deployment.h"
#include "run/keep.h"
#include "run/plugins.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])
#define KI              INT64_C(1024)
#define MI              (KI * 1024)
#define GI              (MI * 1024)

/* ---- A decode step ---- */

/* What one sequence computes and reads, from the study that the catalogue was checked against, with
 * as many digits as it prints: GFLOP of matrices, GFLOP of attention and bytes of the cache at
 * 32 Ki and 128 Ki tokens. */
typedef struct decode_cost {
    const char *model;
    const char *linear_gflop;
    const char *attention_gflop[2];
    const char *cache[2];
    double unit[2];
} decode_cost;

#define GIB 0x1p30
#define MIB 0x1p20

static const decode_cost decode_costs[] = {
    {"llama-3.1-8b", "15.01", {"17.18", "68.72"}, {"4", "16"}, {GIB, GIB}},
    {"llama-3.1-70b", "139", {"85.9", "343.6"}, {"10", "40"}, {GIB, GIB}},
    {"llama-3.1-405b", "807.5", {"270.6", "1082"}, {"15.75", "63"}, {GIB, GIB}},
    {"qwen3-32b", "63.97", {"68.72", "274.9"}, {"8", "32"}, {GIB, GIB}},
    {"qwen3-235b-a22b", "43.14", {"100.9", "403.7"}, {"5.875", "23.5"}, {GIB, GIB}},
    {"gpt-oss-120b", "10.26", {"9.701", "38.69"}, {"1.129", "4.504"}, {GIB, GIB}},
    {"deepseek-v3", "73.25", {"556.7", "2227"}, {"2.145", "8.578"}, {GIB, GIB}},
    {"deepseek-v3.2", "74.95", {"67.55", "165.8"}, {"625.2", "2.04"}, {MIB, GIB}},
    {"deepseek-v4-pro", "97.7", {"16.21", "34.53"}, {"105.4", "308.6"}, {MIB, MIB}},
    {"deepseek-v4-flash", "26.54", {"5.62", "16.09"}, {"62.88", "203.9"}, {MIB, MIB}},
    {"kimi-k2.5", "63.37", {"278.4", "1113"}, {"2.145", "8.578"}, {GIB, GIB}},
    {"kimi-k3", "208.4", {"165", "657.9"}, {"1.681", "4.212"}, {GIB, GIB}},
    {"kimi-k3.1-pro", "208.7", {"17.47", "36.8"}, {"1.077", "1.64"}, {GIB, GIB}},
    {"qwen3.5-9b", "15.87", {"4.383", "17.27"}, {"1.096", "4.096"}, {GIB, GIB}},
    {"qwen3.5-397b-a17b", "32.66", {"16.44", "64.75"}, {"1.295", "4.108"}, {GIB, GIB}},
    {"gemma-4-31b", "61.39", {"23.15", "87.58"}, {"3.281", "10.78"}, {GIB, GIB}},
    {"glm-5", "81.66", {"43.18", "106"}, {"799.5", "2.609"}, {MIB, GIB}},
    {"minimax-m1", "94.35", {"11.1", "43.32"}, {"1.797", "5.547"}, {GIB, GIB}},
    {"nemotron-3-nano-30b-a3b", "6.455", {"3.294", "12.96"}, {"285.6", "861.6"}, {MIB, MIB}},
};

static void is_printed_as(const char *model, double value, const char *text) {
    char found[32];
    snprintf(found, sizeof found, "%.4g", value);
    if (strcmp(found, text) != 0) {
        fail_msg("%s: %s and not %s", model, found, text);
    }
}

static void a_decode_step_costs_what_the_catalogue_says(void **state) {
    (void)state;
    for (size_t i = 0; i < 2 * COUNT_OF(decode_costs); i++) {
        const decode_cost *row = &decode_costs[i / 2];
        sli_estimate_query query = query_of(row->model, i % 2 == 0 ? 32 * KI : 128 * KI, 1);
        sli_estimate estimate = estimate_of(&query);
        is_printed_as(row->model, estimate.work.decode_linear_flops / 1e9, row->linear_gflop);
        is_printed_as(row->model, estimate.work.decode_attention_flops / 1e9,
                      row->attention_gflop[i % 2]);
        is_printed_as(row->model, estimate.step.cache_bytes / row->unit[i % 2], row->cache[i % 2]);
    }
}

/* Each of the requests costs the same; a prompt is one of them. */
static void requests_compute_alike(void **state) {
    (void)state;
    sli_estimate_query query = query_of("qwen3-32b", 1000, 1);
    sli_estimate_work one = estimate_of(&query).work;
    query.requests = 7;
    sli_estimate_work seven = estimate_of(&query).work;
    assert_true(seven.decode_linear_flops == 7.0 * one.decode_linear_flops);
    assert_true(seven.decode_attention_flops == 7.0 * one.decode_attention_flops);
    assert_true(seven.prefill_linear_flops == one.prefill_linear_flops);
    /* 64 layers of 64 heads of 128: 4 x 64 x 128 FLOPs a pair, and the head for one token */
    assert_true(one.prefill_attention_flops == 64.0 * 4 * 64 * 128 * (1000.0 * 1001 / 2));
    double head = 151936.0 * 5120.0;
    double layers = (double)sli_params_matmul(query.architecture) - head;
    assert_true(one.prefill_linear_flops == 2.0 * layers * 1000.0 + 2.0 * head);
}

/* On 989 TFLOPS at 65.8 %, half of it on each of two ranks. */
static void attention_takes_the_share_of_its_kernel(void **state) {
    (void)state;
    sli_estimate_query query = query_of("qwen3-32b", 1000, 1);
    assert_true(estimate_of(&query).work.prefill_attention_ns == -1.0);
    query.kernel = sli_attention_kernel_find("fa3");
    assert_true(estimate_of(&query).work.prefill_attention_ns == -1.0);
    query.device = find_device("h100-sxm");
    double flops = estimate_of(&query).work.prefill_attention_flops;
    double ns = flops / (0.658 * 989e12) * 1e9;
    assert_true(fabs(estimate_of(&query).work.prefill_attention_ns - ns) < 1e-6 * ns);
    query.placement.tp = 2;
    assert_true(fabs(estimate_of(&query).work.prefill_attention_ns - ns / 2.0) < 1e-6 * ns);
}

/* Four chunks of 8,192 tokens make the latents of 1 + 2 + 3 of them anew. */
static void latents_take_the_way_that_is_asked_for(void **state) {
    (void)state;
    sli_estimate_query query = query_of("deepseek-v3", 32 * KI, 1);
    sli_estimate_work whole = estimate_of(&query).work;
    assert_int_equal(whole.decode_way, SLI_LATENT_ABSORBED);
    assert_int_equal(whole.prefill_way, SLI_LATENT_EXPANDED);
    assert_int_equal(whole.remade_tokens, 0);
    query.chunk_tokens = 8 * KI;
    sli_estimate_work chunks = estimate_of(&query).work;
    assert_int_equal(chunks.remade_tokens, 6 * 8 * KI);
    assert_true(chunks.prefill_attention_flops - whole.prefill_attention_flops ==
                61.0 * 33554432.0 * 6.0 * 8192.0);
    query.prefill_way = SLI_LATENT_ABSORBED;
    query.decode_way = SLI_LATENT_EXPANDED;
    sli_estimate_work other = estimate_of(&query).work;
    assert_int_equal(other.remade_tokens, 0);
    assert_true(other.prefill_attention_flops > 3.3 * whole.prefill_attention_flops);
    assert_true(other.decode_attention_flops > whole.decode_attention_flops);
    assert_int_equal(other.decode_way, SLI_LATENT_EXPANDED);
}

/* With two ranks half, with two copies half of the requests; a latent is read on every rank. */
static void ranks_read_their_share(void **state) {
    (void)state;
    sli_estimate_query query = query_of("llama-3.1-8b", 1000, 8);
    query.bandwidth_bytes_per_s = 1e12;
    sli_estimate_step one = estimate_of(&query).step;
    query.placement.tp = 2;
    sli_estimate_step two = estimate_of(&query).step;
    assert_true(fabs(two.cache_ns - one.cache_ns / 2) < 1e-9 * one.cache_ns);
    assert_true(fabs(two.weights_ns - one.weights_ns / 2) < 1e-9 * one.weights_ns);
    assert_true(two.cache_bytes == one.cache_bytes && two.weights_bytes == one.weights_bytes);
    query.placement = (sli_placement){.tp = 1, .pp = 1, .dp = 2, .cp = 1, .ep = 1};
    sli_estimate_step copies = estimate_of(&query).step;
    assert_true(fabs(copies.cache_ns - one.cache_ns / 2) < 1e-9 * one.cache_ns);
    assert_true(copies.weights_ns == one.weights_ns);
    query = query_of("deepseek-v3", 1000, 8);
    query.bandwidth_bytes_per_s = 1e12;
    one = estimate_of(&query).step;
    query.placement.tp = 8;
    assert_true(estimate_of(&query).step.cache_ns == one.cache_ns);
    query.placement = (sli_placement){.tp = 1, .pp = 1, .dp = 1, .cp = 4, .ep = 1};
    assert_true(fabs(estimate_of(&query).step.cache_ns - one.cache_ns / 4) < 1e-9 * one.cache_ns);
}

/* The white paper of Bonsai: 1.125 bits a parameter, 1,098.5 MiB with what the count leaves out;
 * the other formats as bits. */
static void weights_weigh_what_their_format_says(void **state) {
    (void)state;
    sli_estimate_query query = query_of("bonsai-8b", 1, 1);
    query.weights = sli_weight_format_find("q1_0");
    double mib = (double)estimate_of(&query).weights.bytes / 0x1p20;
    assert_true(mib > 1098.0 && mib <= 1098.5);
    static const struct {
        const char *name;
        double bytes; /* a parameter */
    } formats[] = {{"bf16", 2.0},    {"fp8", 1.0},      {"int8", 1.0},      {"q8_0", 1.0625},
                   {"q4_0", 0.5625}, {"nvfp4", 0.5625}, {"mxfp4", 0.53125}, {"q1_0", 0.140625}};
    for (size_t i = 0; i < COUNT_OF(formats); i++) {
        query.weights = sli_weight_format_find(formats[i].name);
        sli_estimate_weights weights = estimate_of(&query).weights;
        double exact = (double)weights.params * formats[i].bytes;
        assert_true((double)weights.bytes >= exact && (double)weights.bytes < exact + 34.0);
        assert_true(fabs(estimate_of(&query).step.weights_bytes -
                         (double)weights.token_params * formats[i].bytes) < 1.0);
    }
    assert_null(sli_weight_format_find("q9_9"));
}

/* All 100 wait. */
static void a_request_counts_with_what_waits_in_bf16(void **state) {
    (void)state;
    sli_estimate_query query = query_of("gqa", 100, 1);
    query.cache = sli_cache_format_find("kivi2");
    assert_int_equal(estimate_of(&query).cache.request_bytes, 100 * 128 * KI);
}

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

/* The layout of a run, by the keys of a scenario. */
static sli_layout layout_of_a_run(const sli_estimate_query *query) {
    sli_layout layout;
    char why[128];
    const sli_layout_options options = {
        .cache = query->cache,
        .block_tokens = query->block_tokens,
        .tp = query->placement.tp,
        .max_batched_tokens = 8192,
        .max_model_tokens = query->tokens,
        .window_pages = query->window_pages,
        .state_saves = query->state_saves,
    };
    assert_int_equal(sli_layout_make(query->architecture, &options, &layout, why, sizeof why),
                     SL_OK);
    return layout;
}

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

static void is_placed(const sli_placement *placement, int64_t tp, int64_t pp) {
    assert_int_equal(placement->tp, tp);
    assert_int_equal(placement->pp, pp);
}

/* 671 GB of weights leave no room on eight devices of 80 GB. Six layers of experts, 11.5 GB each,
 * find place on one and seven do not: 11 stages. Of five stages on two each, one has 13 layers. */
static void deepseek_v3_in_fp8_needs_two_nodes(void **state) {
    (void)state;
    sli_estimate_query query = query_of("deepseek-v3", 32 * KI, 1);
    sli_placement placements[SLI_PLACEMENTS_MAX];
    query.weights = sli_weight_format_find("fp8");
    query.device = find_device("h100-sxm");
    query.placement.tp = 2;
    assert_false(estimate_of(&query).fit.is_met);
    assert_int_equal((int)sli_estimate_placements(&query, true, placements), 2);
    is_placed(&placements[0], 16, 1);
    is_placed(&placements[1], 8, 2);
    assert_int_equal((int)sli_estimate_placements(&query, false, placements), 1);
    is_placed(&placements[0], 1, 11);
}

/* Experts on all of them instead: 16 copies of the attention fit as well, 8 do not. */
static void advice_keeps_what_was_asked_for_besides(void **state) {
    (void)state;
    sli_estimate_query query = query_of("deepseek-v3", 32 * KI, 1);
    sli_placement placements[SLI_PLACEMENTS_MAX];
    query.weights = sli_weight_format_find("fp8");
    query.device = find_device("h100-sxm");
    query.placement = (sli_placement){.tp = 1, .pp = 1, .dp = 8, .cp = 1, .ep = 8};
    assert_false(estimate_of(&query).fit.is_met);
    assert_int_equal((int)sli_estimate_placements(&query, true, placements), 2);
    assert_int_equal(placements[0].dp, 8);
    assert_int_equal(placements[0].ep, 8);
    is_placed(&placements[0], 2, 1);
    query.placement = (sli_placement){.tp = 1, .pp = 1, .dp = 16, .cp = 1, .ep = 16};
    assert_true(estimate_of(&query).fit.is_met);
}

static bool fits_on(const sli_estimate_query *asked, int64_t tp, int64_t pp) {
    sli_estimate_query query = *asked;
    sli_diag unsaid = {0};
    sli_estimate estimate;
    query.placement.tp = tp;
    query.placement.pp = pp;
    bool fits = sli_estimate_find(&query, &unsaid, &estimate) == SL_OK && estimate.fit.is_met;
    sli_diag_fini(&unsaid);
    return fits;
}

/* All placements on so many devices, by looking at each whole estimate. */
static int count_fitting(const sli_estimate_query *query, int64_t devices) {
    int count = 0;
    for (int64_t tp = 1; tp <= 16; tp *= 2) {
        count += devices % tp == 0 && fits_on(query, tp, devices / tp);
    }
    return count;
}

static void advice_is_the_fewest_devices(void **state) {
    (void)state;
    static const struct {
        const char *model;
        const char *device;
        int64_t requests;
    } cases[] = {{"kimi-k3", "h200", 1},           {"deepseek-v4-pro", "h100-sxm", 1},
                 {"qwen3-32b", "h100-sxm", 8},     {"llama-3.1-405b", "a100-80g", 3},
                 {"phi-4-14b", "a100-40g", 40},    {"gemma-4-31b", "a100-40g", 9},
                 {"rwkv-7-7.2b", "a100-40g", 9999}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        sli_estimate_query query = query_of(cases[i].model, 32 * KI, cases[i].requests);
        sli_placement found[SLI_PLACEMENTS_MAX];
        query.device = find_device(cases[i].device);
        size_t count = sli_estimate_placements(&query, false, found);
        assert_true(count >= 1);
        int64_t devices = sli_placement_ranks(&found[0]);
        for (int64_t fewer = 1; fewer < devices; fewer++) {
            assert_int_equal(count_fitting(&query, fewer), 0);
        }
        int all = count_fitting(&query, devices);
        assert_int_equal((int)count, all < SLI_PLACEMENTS_MAX ? all : SLI_PLACEMENTS_MAX);
        for (size_t j = 0; j < count; j++) {
            assert_true(fits_on(&query, found[j].tp, found[j].pp));
        }
    }
}

/* 2,779 billion parameters in bf16 on 128 x 36 GiB */
static void some_models_find_no_place(void **state) {
    (void)state;
    sli_estimate_query query = query_of("kimi-k3", 32 * KI, 1);
    sli_placement placements[SLI_PLACEMENTS_MAX];
    query.device = find_device("a100-40g");
    query.weights = sli_weight_format_find("bf16");
    assert_int_equal((int)sli_estimate_placements(&query, false, placements), 0);
    assert_int_equal((int)sli_estimate_placements(&query, true, placements), 0);
}

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

/* ---- Weights of two formats ---- */

/* The model card of gpt-oss (OpenAI 2025), table 1: 60.8 and 12.8 GiB, with the norms, biases and
 * sinks that are left out here. Of the parameters that a token is multiplied with those of four
 * experts of 24 layers are in 17 bytes for 32. */
static void experts_have_a_format_of_their_own(void **state) {
    (void)state;
    sli_estimate_query query = query_of("gpt-oss-120b", 1, 1);
    query.weights = sli_weight_format_find("bf16");
    query.expert_weights = sli_weight_format_find("mxfp4");
    double large = (double)estimate_of(&query).weights.bytes / GIB;
    assert_true(large > 60.6 && large < 60.8);
    query = query_of("gpt-oss-20b", 1, 1);
    query.weights = sli_weight_format_find("bf16");
    query.expert_weights = sli_weight_format_find("mxfp4");
    sli_estimate small = estimate_of(&query);
    assert_true(fabs((double)small.weights.bytes / GIB - 12.8) < 0.05);
    double experts = 24.0 * 4 * 3 * 2880 * 2880;
    double others = (double)small.weights.token_params - experts;
    assert_true(fabs(small.step.weights_bytes - (2.0 * others + experts * 17 / 32)) < 1.0);
    /* the same format twice is one */
    query.expert_weights = query.weights;
    sli_estimate twice = estimate_of(&query);
    query.expert_weights = NULL;
    assert_int_equal(twice.weights.bytes, estimate_of(&query).weights.bytes);
    assert_true(twice.step.weights_bytes == estimate_of(&query).step.weights_bytes);
}

/* On ranks the experts of DeepSeek-V3 are cut over all of them, latents and routers are copied. */
static void experts_are_cut_in_their_format(void **state) {
    (void)state;
    sli_estimate_query query = query_of("deepseek-v3", 32 * KI, 1);
    query.device = find_device("h200");
    query.placement.tp = 8;
    query.weights = sli_weight_format_find("bf16");
    int64_t bf16_bytes = estimate_of(&query).fit.weights_bytes;
    query.expert_weights = sli_weight_format_find("fp8");
    int64_t expert_params = INT64_C(58) * 256 * 3 * 7168 * 2048;
    assert_int_equal(bf16_bytes - estimate_of(&query).fit.weights_bytes, expert_params / 8);
}

/* Nothing is said, or published: 65.2 GB fit one device of 80 GB; in two bytes 233.6 GB do not. */
static void weights_are_as_published_unless_said_otherwise(void **state) {
    (void)state;
    sli_estimate_query query = query_of("gpt-oss-120b", 32 * KI, 1);
    query.device = find_device("h100-sxm");
    sli_estimate published = estimate_of(&query);
    assert_int_equal(published.weights.bytes, INT64_C(65168179200));
    assert_true(published.fit.is_met);
    query.weights = sli_weight_format_find("bf16");
    sli_estimate plain = estimate_of(&query);
    assert_int_equal(plain.weights.bytes, 2 * plain.weights.params);
    assert_false(plain.fit.is_met);
    query = sli_estimate_as_published(&query);
    assert_int_equal(estimate_of(&query).weights.bytes, published.weights.bytes);
}

static void experts_in_a_format_need_experts(void **state) {
    (void)state;
    sli_diag said = {0};
    sli_estimate estimate;
    sli_estimate_query query = query_of("llama-3.1-8b", 1, 1);
    query.expert_weights = sli_weight_format_find("fp8");
    assert_int_equal(sli_estimate_find(&query, &said, &estimate), SL_ERR_CONFIG);
    assert_non_null(strstr(said.last->message, "has no routed experts"));
    sli_diag_fini(&said);
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

/* ---- What cannot be asked ---- */

static void refuses_what_cannot_be(void **state) {
    (void)state;
    sli_diag said = {0};
    sli_estimate estimate = {.fit = {.max_requests = 77}};
    sli_estimate_query query = query_of("mha", 100, 2);
    query.shared_tokens = 100;
    assert_int_equal(sli_estimate_find(&query, &said, &estimate), SL_ERR_CONFIG);
    query = query_of("mha", 100, 2);
    query.placement.pp = 33;
    assert_int_equal(sli_estimate_find(&query, &said, &estimate), SL_ERR_CONFIG);
    query = query_of("mha", 100, 2);
    query.placement.tp = 3;
    assert_int_equal(sli_estimate_find(&query, &said, &estimate), SL_ERR_CONFIG);
    query = query_of("mha", 100, 2);
    query.decode_way = SLI_LATENT_ABSORBED;
    assert_int_equal(sli_estimate_find(&query, &said, &estimate), SL_ERR_CONFIG);
    query = query_of("bloom-176b", SLI_ESTIMATE_TOKENS_MAX, SLI_ESTIMATE_REQUESTS_MAX);
    assert_int_equal(sli_estimate_find(&query, &said, &estimate), SL_ERR_CONFIG);
    assert_int_equal(estimate.fit.max_requests, 77);
    /* a chunk of 8,192 tokens is no multiple of 24 */
    query = query_of("llama-4-scout", 100, 1);
    query.block_tokens = 24;
    assert_int_equal(sli_estimate_find(&query, &said, &estimate), SL_OK);
    query.device = find_device("h200");
    estimate.fit.max_requests = 77;
    assert_int_equal(sli_estimate_find(&query, &said, &estimate), SL_ERR_CONFIG);
    assert_int_equal(estimate.fit.max_requests, 77);
    assert_non_null(strstr(said.last->message, "a chunk of 8192 tokens"));
    /* windows that are not given back: 64 Mi tokens of 128 KiB, 1 Mi times */
    query = query_of("mistral-7b-v0.1", SLI_ESTIMATE_TOKENS_MAX, SLI_ESTIMATE_REQUESTS_MAX);
    query.device = find_device("h200");
    assert_int_equal(sli_estimate_find(&query, &said, &estimate), SL_OK);
    query.window_pages = SLI_WINDOW_IGNORED;
    assert_int_equal(sli_estimate_find(&query, &said, &estimate), SL_ERR_CONFIG);
    assert_int_equal(said.error_count, 7);
    sli_diag_fini(&said);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_decode_step_costs_what_the_catalogue_says),
        cmocka_unit_test(requests_compute_alike),
        cmocka_unit_test(attention_takes_the_share_of_its_kernel),
        cmocka_unit_test(latents_take_the_way_that_is_asked_for),
        cmocka_unit_test(ranks_read_their_share),
        cmocka_unit_test(weights_weigh_what_their_format_says),
        cmocka_unit_test(a_request_counts_with_what_waits_in_bf16),
        cmocka_unit_test(shares_the_rows_of_the_prefix_that_are_left),
        cmocka_unit_test(shares_compressed_entries_and_no_compressor_state),
        cmocka_unit_test(shares_and_holds_what_a_run_does),
        cmocka_unit_test(says_why_nothing_is_shared),
        cmocka_unit_test(saved_states_take_pages_of_their_own),
        cmocka_unit_test(has_the_defaults_of_a_scenario),
        cmocka_unit_test(has_the_room_of_a_run),
        cmocka_unit_test(one_request_more_does_not_fit),
        cmocka_unit_test(ranks_share_heads_and_copy_the_last),
        cmocka_unit_test(ranks_share_the_context),
        cmocka_unit_test(copies_share_the_requests),
        cmocka_unit_test(rows_that_wait_have_pages_of_their_own),
        cmocka_unit_test(the_fullest_stage_counts),
        cmocka_unit_test(deepseek_v3_in_fp8_needs_two_nodes),
        cmocka_unit_test(advice_keeps_what_was_asked_for_besides),
        cmocka_unit_test(advice_is_the_fewest_devices),
        cmocka_unit_test(some_models_find_no_place),
        cmocka_unit_test(what_a_method_leaves_is_counted),
        cmocka_unit_test(methods_leave_what_a_run_has),
        cmocka_unit_test(what_a_method_leaves_is_not_shared),
        cmocka_unit_test(experts_have_a_format_of_their_own),
        cmocka_unit_test(experts_are_cut_in_their_format),
        cmocka_unit_test(weights_are_as_published_unless_said_otherwise),
        cmocka_unit_test(experts_in_a_format_need_experts),
        cmocka_unit_test(windows_are_held_as_they_are_asked_for),
        cmocka_unit_test(states_make_blocks_larger),
        cmocka_unit_test(blocks_round_up),
        cmocka_unit_test(whole_blocks_of_a_prefix_are_shared),
        cmocka_unit_test(reserved_windows_go_by_the_tokens_of_a_step),
        cmocka_unit_test(the_terms_of_a_rank_add_up),
        cmocka_unit_test(expanded_latents_take_room_when_asked_about),
        cmocka_unit_test(chunks_bound_the_scores),
        cmocka_unit_test(refuses_what_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, close_methods);
}
