/* What a decode step computes and reads, what weights weigh, and what cannot be asked. */
#include "models.h"

#include "model/params.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])
#define KI              INT64_C(1024)

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
        cmocka_unit_test(experts_have_a_format_of_their_own),
        cmocka_unit_test(experts_are_cut_in_their_format),
        cmocka_unit_test(weights_are_as_published_unless_said_otherwise),
        cmocka_unit_test(experts_in_a_format_need_experts),
        cmocka_unit_test(refuses_what_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, free_models);
}
