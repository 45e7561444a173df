#include "kv/budget.h"

#include "model/parallel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

static sli_arena arena;
static const sli_device *h100;
static const sli_device *h200;
static const sli_device *a100_40g;
static const sli_architecture *llama;
static const sli_architecture *qwen;

static int read_all(void **state) {
    (void)state;
    sli_catalogue_site site = {0};
    sli_diag diag = {0};
    bool is_read = sli_device_read(&arena, "h100-sxm", site, &diag, &h100) == SL_OK &&
                   sli_device_read(&arena, "h200", site, &diag, &h200) == SL_OK &&
                   sli_device_read(&arena, "a100-40g", site, &diag, &a100_40g) == SL_OK &&
                   sli_architecture_read(&arena, "llama-3.1-8b", site, &diag, &llama) == SL_OK &&
                   sli_architecture_read(&arena, "qwen3-32b", site, &diag, &qwen) == SL_OK;
    sli_diag_print(&diag, stderr);
    sli_diag_fini(&diag);
    return is_read ? 0 : -1;
}

static int free_all(void **state) {
    (void)state;
    sli_arena_fini(&arena);
    return 0;
}

/* What a scenario with this text under `memory` says. */
static sl_err read_memory(const char *text, sli_memory_config *config) {
    sli_diag diag = {0};
    sli_node *root = NULL;
    sl_err err = sli_tree_read_text(&arena, "s.yaml", text, strlen(text), &diag, &root);
    if (err == SL_OK) {
        err = sli_schema_resolve(&arena, &sli_memory_section, NULL, root, &diag, config);
    }
    sli_diag_fini(&diag);
    return err;
}

static sli_memory_config memory_of(const char *text) {
    sli_memory_config config = {0};
    assert_int_equal(read_memory(text, &config), SL_OK);
    return config;
}

static const sli_layout *layout_of(const sli_architecture *architecture,
                                   const sli_layout_options *options) {
    sli_layout *layout = sli_arena_alloc(&arena, sizeof *layout);
    char why[128];
    assert_non_null(layout);
    assert_int_equal(sli_layout_make(architecture, options, layout, why, sizeof why), SL_OK);
    return layout;
}

static sli_budget_query query_in(const sli_architecture *architecture, const sli_device *device,
                                 int64_t tp, const char *weights, const char *cache) {
    sli_budget_query query = {
        .architecture = architecture,
        .device = device,
        .weights = sli_weights_all(sli_weight_format_find(weights)),
        .options = {.cache = sli_cache_format_find(cache),
                    .block_tokens = 16,
                    .tp = tp,
                    .max_batched_tokens = 8192,
                    .max_model_tokens = architecture->context_native_tokens},
        .max_seqs = 256,
    };
    query.layout = layout_of(architecture, &query.options);
    return query;
}

static sli_budget_query query_of(const sli_architecture *architecture, const sli_device *device,
                                 int64_t tp) {
    return query_in(architecture, device, tp, "bf16", "bf16");
}

/* By hand: .9 x 81,559 MiB = 76,968,728,985.6; 2 x 32,761,446,400; 2 x 8192 x 5120 x 4 + 256 x
 * 151,936 x 4 = 491,126,784; a block is 16 x 262,144 B. */
static void qwen_on_one_h100_has_2227_blocks(void **state) {
    (void)state;
    sli_memory_config config = memory_of("{}");
    sli_budget_query query = query_of(qwen, h100, 1);
    sli_diag diag = {0};
    sli_budget budget;
    assert_int_equal(sli_budget_find(&config, &query, (sli_mark){0}, NULL, &diag, &budget), SL_OK);
    assert_int_equal(budget.capacity_bytes, INT64_C(81559) << 20);
    assert_int_equal(budget.usable_bytes, INT64_C(76968728985));
    assert_int_equal(budget.weights_bytes, INT64_C(65522892800));
    assert_int_equal(budget.activation_bytes, 491126784);
    assert_int_equal(budget.graphs_bytes, INT64_C(1) << 30);
    assert_int_equal(budget.other_bytes, INT64_C(1) << 29);
    assert_int_equal(budget.kv_bytes, INT64_C(9344096665));
    assert_int_equal(budget.block_bytes, 16 * 262144);
    assert_int_equal(budget.blocks, 2227);
    assert_int_equal(sli_budget_shortfall(&budget), 0);
    assert_int_equal(diag.error_count, 0);
}

static void llama_has_more_blocks_with_every_doubling(void **state) {
    (void)state;
    const int64_t blocks[SLI_TP_COUNT] = {28084, 63827, 135313, 278285};
    sli_memory_config config = memory_of("{}");
    for (int i = 0; i < SLI_TP_COUNT; i++) {
        sli_budget_query query = query_of(llama, h100, sli_tp_degrees[i]);
        sli_budget budget;
        sli_budget_compute(&config, &query, &budget);
        assert_int_equal(budget.blocks, blocks[i]);
    }
}

/* More ranks never need more on one of them. */
static void a_rank_holds_less_with_more_ranks(void **state) {
    (void)state;
    sli_memory_config config = memory_of("{}");
    sli_budget last = {.weights_bytes = INT64_MAX, .block_bytes = INT64_MAX};
    for (int i = 0; i < SLI_TP_COUNT; i++) {
        sli_budget_query query = query_of(qwen, h200, sli_tp_degrees[i]);
        sli_budget budget;
        sli_budget_compute(&config, &query, &budget);
        assert_true(budget.weights_bytes < last.weights_bytes);
        assert_true(budget.block_bytes < last.block_bytes);
        assert_true(budget.blocks > last.blocks);
        last = budget;
    }
}

static void refuses_what_does_not_fit_and_says_what_would(void **state) {
    (void)state;
    sli_memory_config config = memory_of("{}");
    sli_budget_query query = query_of(qwen, a100_40g, 1);
    sli_mark mark = {"s.yaml", 2, 8};
    sli_diag diag = {0};
    sli_budget budget = {.blocks = 77};
    assert_int_equal(sli_budget_find(&config, &query, mark, "model", &diag, &budget), SL_ERR_FIT);
    assert_int_equal(budget.blocks, 77); /* untouched */
    const char *message = diag.first->message;
    assert_non_null(strstr(message, "qwen3-32b (bf16) at tp 1 on a100-40g"));
    assert_non_null(strstr(message, "needs 61.02 GiB of weights"));
    /* 65,522,892,800 + 491,126,784 + 1.5 GiB + 4 MiB - floor(.9 x 40 GiB) = 28,974,120,960 B */
    assert_non_null(strstr(message, "short by 26.99 GiB"));
    assert_non_null(strstr(message, "tp 2 is the smallest that fits"));
    assert_int_equal(diag.first->mark.line, 2);
    sli_diag_fini(&diag);
}

static void says_so_when_no_degree_fits(void **state) {
    (void)state;
    sli_memory_config config = memory_of("{utilization: 0.05}");
    sli_budget_query query = query_of(qwen, a100_40g, 2);
    sli_diag diag = {0};
    sli_budget budget;
    assert_int_equal(sli_budget_smallest_tp(&config, &query), 0);
    assert_int_equal(sli_budget_find(&config, &query, (sli_mark){0}, NULL, &diag, &budget),
                     SL_ERR_FIT);
    assert_non_null(strstr(diag.first->message, "no tensor parallelism of 1, 2, 4 or 8 fits"));
    sli_diag_fini(&diag);
}

/* One block more or less of memory is what decides. */
static void fits_from_exactly_one_block(void **state) {
    (void)state;
    sli_memory_config config = memory_of("{}");
    sli_budget_query query = query_of(qwen, h100, 1);
    sli_budget budget;
    sli_budget_compute(&config, &query, &budget);
    int64_t spare_bytes = budget.kv_bytes - budget.block_bytes;
    config.other_bytes += spare_bytes;
    sli_budget_compute(&config, &query, &budget);
    assert_int_equal(budget.blocks, 1);
    assert_int_equal(sli_budget_shortfall(&budget), 0);
    assert_int_equal(sli_budget_smallest_tp(&config, &query), 1);
    config.other_bytes -= budget.block_bytes / 2;
    sli_budget_compute(&config, &query, &budget);
    assert_int_equal(sli_budget_shortfall(&budget), 0);
    config.other_bytes += budget.block_bytes / 2 + 1;
    sli_budget_compute(&config, &query, &budget);
    assert_int_equal(budget.blocks, 0);
    assert_int_equal(sli_budget_shortfall(&budget), 1);
    assert_int_equal(sli_budget_smallest_tp(&config, &query), 2);
    sli_diag diag = {0};
    assert_int_equal(sli_budget_find(&config, &query, (sli_mark){0}, NULL, &diag, &budget),
                     SL_ERR_FIT);
    assert_non_null(strstr(diag.first->message, "short by 0.01 GiB"));
    sli_diag_fini(&diag);
}

static void degrees_that_do_not_divide_are_passed_over(void **state) {
    (void)state;
    const sli_layer_run *run = qwen->layers.rows;
    sli_gqa heads = *(const sli_gqa *)run->mixer->values;
    heads.q_heads = 63;
    heads.kv_heads = 7;
    sli_layer_part mixer = *run->mixer;
    mixer.values = &heads;
    mixer.facts = (sli_part_facts){0};
    mixer.kind->describe(&heads, qwen->hidden, &mixer.facts);
    sli_layer_run odd_run = *run;
    odd_run.mixer = &mixer;
    sli_architecture odd = *qwen;
    odd.layers.rows = &odd_run;
    sli_memory_config config = memory_of("{}");
    sli_budget_query query = query_of(&odd, a100_40g, 1);
    assert_int_equal(sli_budget_smallest_tp(&config, &query), 0);
}

static void scenario_overrides_every_term(void **state) {
    (void)state;
    sli_memory_config config = memory_of("{utilization: 0.5, activation: 1 GiB, graphs: 0 B, "
                                         "other: 2 MiB}");
    sli_budget_query query = query_of(llama, h100, 1);
    sli_budget budget;
    sli_budget_compute(&config, &query, &budget);
    assert_int_equal(budget.usable_bytes, (INT64_C(81559) << 20) / 2);
    assert_int_equal(budget.activation_bytes, INT64_C(1) << 30);
    assert_int_equal(budget.graphs_bytes, 0);
    assert_int_equal(budget.other_bytes, 2 << 20);
    assert_int_equal(budget.kv_bytes, (INT64_C(81559) << 19) - INT64_C(2) * INT64_C(8029995008) -
                                          (INT64_C(1) << 30) - (2 << 20));
}

static void given_blocks_are_taken_as_they_are(void **state) {
    (void)state;
    sli_memory_config config = memory_of("{kv_blocks: 50}");
    sli_budget_query query = query_of(qwen, a100_40g, 1);
    sli_diag diag = {0};
    sli_budget budget;
    assert_int_equal(sli_budget_find(&config, &query, (sli_mark){0}, NULL, &diag, &budget), SL_OK);
    assert_int_equal(budget.blocks, 50);
    assert_true(budget.is_overridden);
    sli_memory_config none = {0};
    assert_int_equal(read_memory("{kv_blocks: 0}", &none), SL_ERR_CONFIG);
    assert_int_equal(read_memory("{window_pages: kept}", &none), SL_ERR_CONFIG);
    assert_int_equal(read_memory("{utilization: 1.5}", &none), SL_ERR_CONFIG);
    assert_int_equal(read_memory("{graphs: 7}", &none), SL_ERR_CONFIG);
}

/* Two A100s of 40 GB leave each 3.8 GB: room for 20,000 tokens of 131,072 bytes, but not of the
 * 262,144 that one rank alone would need for them. */
static void other_degrees_have_pages_of_their_own(void **state) {
    (void)state;
    sli_memory_config config = memory_of("{}");
    sli_budget_query query = query_of(qwen, a100_40g, 1);
    query.options.block_tokens = 20000;
    query.layout = layout_of(qwen, &query.options);
    assert_int_equal(query.layout->page_bytes, INT64_C(20000) * 262144);
    assert_int_equal(sli_budget_smallest_tp(&config, &query), 2);
}

static void without_a_layout_it_knows_the_other_terms(void **state) {
    (void)state;
    sli_memory_config config = memory_of("{}");
    sli_budget_query query = query_of(qwen, h100, 1);
    query.layout = NULL;
    sli_budget budget;
    sli_budget_compute(&config, &query, &budget);
    assert_int_equal(budget.weights_bytes, INT64_C(65522892800));
    assert_int_equal(budget.kv_bytes, INT64_C(9344096665));
    assert_int_equal(budget.block_bytes, 0);
    assert_int_equal(budget.blocks, 0);
}

/* 32,761,446,400 parameters of a byte; 8,192 rows of keys and values a token, of 72 bytes each: 18
 * for 32 elements. */
static void formats_weigh_what_they_say(void **state) {
    (void)state;
    sli_memory_config config = memory_of("{}");
    sli_budget_query query = query_in(qwen, h100, 1, "fp8", "q4_0");
    sli_budget budget;
    sli_budget_compute(&config, &query, &budget);
    assert_int_equal(budget.weights_bytes, INT64_C(32761446400));
    assert_int_equal(budget.block_bytes, 16 * 64 * 2 * 8 * 72);
    assert_int_equal(budget.kv_bytes, INT64_C(9344096665) + INT64_C(32761446400));
    assert_int_equal(budget.blocks, INT64_C(42105543065) / 1179648);
    sli_diag diag = {0};
    query = query_in(llama, a100_40g, 1, "bf16", "q4_0");
    config = memory_of("{utilization: 0.1}");
    assert_int_equal(sli_budget_find(&config, &query, (sli_mark){0}, NULL, &diag, &budget),
                     SL_ERR_FIT);
    assert_non_null(strstr(diag.first->message, "llama-3.1-8b (bf16, KV in q4_0) at tp 1"));
    sli_diag_fini(&diag);
}

/* A token of Qwen3.5 9B holds four pages of 8 layers x 528 tokens x 4,096 bytes: one of its full
 * layers, three of states. */
static void fits_when_all_pages_of_one_token_do(void **state) {
    (void)state;
    const sli_architecture *hybrid = NULL;
    sli_catalogue_site site = {0};
    sli_diag diag = {0};
    assert_int_equal(sli_architecture_read(&arena, "qwen3.5-9b", site, &diag, &hybrid), SL_OK);
    const int64_t page_bytes = 8 * 528 * 4096;
    sli_memory_config config = memory_of("{}");
    sli_budget_query query = query_of(hybrid, h100, 1);
    sli_budget budget;
    sli_budget_compute(&config, &query, &budget);
    assert_int_equal(budget.block_bytes, page_bytes);
    assert_int_equal(budget.least_blocks, 4);
    assert_int_equal(budget.blocks, budget.kv_bytes / page_bytes);
    config.other_bytes += budget.kv_bytes - 4 * page_bytes;
    sli_budget_compute(&config, &query, &budget);
    assert_int_equal(budget.blocks, 4);
    assert_int_equal(sli_budget_shortfall(&budget), 0);
    config.other_bytes += 1;
    sli_budget_compute(&config, &query, &budget);
    assert_int_equal(budget.blocks, 0);
    assert_int_equal(sli_budget_shortfall(&budget), 1);
    assert_int_equal(sli_budget_find(&config, &query, (sli_mark){0}, NULL, &diag, &budget),
                     SL_ERR_FIT);
    assert_non_null(strstr(diag.first->message, "and KV pages for one token of 66.00 MiB, out of"));
    assert_non_null(strstr(diag.first->message, "tp 2 is the smallest that fits"));
    sli_diag_fini(&diag);
}

/* ---- Workspace ---- */

static sli_budget_query long_query(const char *kernel, int64_t tp) {
    sli_budget_query query = query_of(qwen, h200, tp);
    query.options.max_batched_tokens = 32768;
    query.options.max_model_tokens = 32768;
    query.kernel = sli_attention_kernel_find(kernel);
    assert_non_null(query.kernel);
    return query;
}

/* 64 heads: 32,768 x 32,768 x 2 B for each, which are 128 GiB; a sum in fp32 for each query; 256
 * decode rows in 32 parts of 64 x 129 x 4 B. */
static void a_kernel_has_its_workspace_out_of_the_cache(void **state) {
    (void)state;
    static const struct {
        const char *kernel;
        int64_t workspace_bytes;
    } cases[] = {{"naive", INT64_C(128) << 30},
                 {"fa1", 32768 * 64 * 4},
                 {"fa3", 32768 * 64 * 4},
                 {"split_kv", 256 * 32 * 64 * 129 * 4}};
    sli_memory_config config = memory_of("{}");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sli_budget_query query = long_query(cases[i].kernel, 1);
        sli_budget with;
        sli_budget without;
        sli_budget_compute(&config, &query, &with);
        query.kernel = NULL;
        sli_budget_compute(&config, &query, &without);
        assert_int_equal(without.workspace_bytes, 0);
        assert_int_equal(with.workspace_bytes, cases[i].workspace_bytes);
        assert_int_equal(with.kv_bytes, without.kv_bytes - cases[i].workspace_bytes);
    }
}

/* Half of the heads and weights, 64 GiB + 30.51 GiB + 1.77 + 1.5, fit into the 126.36 GiB of one
 * of two H200. */
static void scores_that_are_written_down_do_not_fit(void **state) {
    (void)state;
    sli_memory_config config = memory_of("{}");
    sli_budget_query query = long_query("naive", 1);
    sli_diag diag = {0};
    sli_budget budget;
    assert_int_equal(sli_budget_find(&config, &query, (sli_mark){0}, NULL, &diag, &budget),
                     SL_ERR_FIT);
    assert_non_null(strstr(diag.first->message, "128.00 GiB for the scores of naive attention"));
    assert_non_null(strstr(diag.first->message,
                           "; tp 2 is the smallest that fits; flash attention (attention.kernel: "
                           "fa2) writes no scores down"));
    sli_diag_fini(&diag);
    diag = (sli_diag){0};
    query.kernel = sli_attention_kernel_find("fa2");
    assert_int_equal(sli_budget_find(&config, &query, (sli_mark){0}, NULL, &diag, &budget), SL_OK);
    query = long_query("naive", 2);
    assert_int_equal(sli_budget_find(&config, &query, (sli_mark){0}, NULL, &diag, &budget), SL_OK);
    assert_int_equal(budget.workspace_bytes, INT64_C(64) << 30);
    assert_int_equal(diag.error_count, 0);
    /* flash attention is no remedy for those who have it */
    query.kernel = sli_attention_kernel_find("fa2");
    config = memory_of("{utilization: 0.1}");
    assert_int_equal(sli_budget_find(&config, &query, (sli_mark){0}, NULL, &diag, &budget),
                     SL_ERR_FIT);
    assert_non_null(strstr(diag.first->message, "0.00 GiB for the workspace of fa2 attention"));
    assert_null(strstr(diag.first->message, "flash attention"));
    sli_diag_fini(&diag);
}

/* The guide, chapter 13: 128 heads at 32,768 tokens write down 256 GiB. */
static void naive_attention_of_128_heads_writes_256_gib(void **state) {
    (void)state;
    const sli_architecture *v3 = NULL;
    sli_diag diag = {0};
    assert_int_equal(
        sli_architecture_read(&arena, "deepseek-v3", (sli_catalogue_site){0}, &diag, &v3), SL_OK);
    sli_memory_config config = memory_of("{}");
    sli_budget_query query = query_in(v3, h200, 1, "fp8", "bf16");
    query.options.max_batched_tokens = 32768;
    query.options.max_model_tokens = 32768;
    query.kernel = sli_attention_kernel_find("naive");
    sli_budget budget;
    assert_int_equal(sli_budget_find(&config, &query, (sli_mark){0}, NULL, &diag, &budget),
                     SL_ERR_FIT);
    assert_non_null(strstr(diag.first->message, "256.00 GiB for the scores of naive attention"));
    assert_non_null(strstr(diag.first->message, "flash attention"));
    sli_diag_fini(&diag);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(qwen_on_one_h100_has_2227_blocks),
        cmocka_unit_test(llama_has_more_blocks_with_every_doubling),
        cmocka_unit_test(a_rank_holds_less_with_more_ranks),
        cmocka_unit_test(refuses_what_does_not_fit_and_says_what_would),
        cmocka_unit_test(says_so_when_no_degree_fits),
        cmocka_unit_test(fits_from_exactly_one_block),
        cmocka_unit_test(degrees_that_do_not_divide_are_passed_over),
        cmocka_unit_test(scenario_overrides_every_term),
        cmocka_unit_test(given_blocks_are_taken_as_they_are),
        cmocka_unit_test(other_degrees_have_pages_of_their_own),
        cmocka_unit_test(without_a_layout_it_knows_the_other_terms),
        cmocka_unit_test(formats_weigh_what_they_say),
        cmocka_unit_test(fits_when_all_pages_of_one_token_do),
        cmocka_unit_test(a_kernel_has_its_workspace_out_of_the_cache),
        cmocka_unit_test(scores_that_are_written_down_do_not_fit),
        cmocka_unit_test(naive_attention_of_128_heads_writes_256_gib),
    };
    return cmocka_run_group_tests(tests, read_all, free_all);
}
