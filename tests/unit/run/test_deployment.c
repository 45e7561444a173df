/*
 * What a scenario says about formats, pages and attention, as its deployment understands it.
 */
#include "run/deployment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char scenario_text[] =
    "model: llama-3.1-8b\n"
    "hardware: h100-sxm\n"
    "cost: {fixed: {step: 1 ms}}\n"
    "workload: {source: poisson, rate: 1 /s, requests: 1, prompt: {fixed: 9 tokens}, "
    "output: {fixed: 9 tokens}}\n";

typedef struct world {
    sli_scenario_file file;
    sli_diag diag;
    sli_deployment deployment;
} world;

static sl_err deploy_text(world *w, const char *text, const char *set) {
    *w = (world){0};
    sl_err err = sli_scenario_read_text("s.yaml", text, &set, 1, &w->diag, &w->file);
    return err == SL_OK ? sli_deployment_create(&w->file, &w->diag, &w->deployment) : err;
}

/* The deployment with one more setting. */
static sl_err deploy(world *w, const char *set) {
    return deploy_text(w, scenario_text, set);
}

static void leave(world *w) {
    sli_deployment_destroy(&w->deployment);
    sli_scenario_close(&w->file);
    sli_diag_fini(&w->diag);
}

/* A choice is an index into these tables, so the names must be theirs, in their order. */
static void takes_every_format_by_its_name(void **state) {
    (void)state;
    world w;
    char set[64];
    for (int i = 0; sli_weight_formats[i].name != NULL; i++) {
        snprintf(set, sizeof set, "model.weights=%s", sli_weight_formats[i].name);
        deploy(&w, set);
        assert_int_equal(w.file.values.model.weights, i + 1);
        assert_non_null(w.deployment.layout);
        leave(&w);
    }
    for (int i = 0; sli_cache_formats[i].name != NULL; i++) {
        snprintf(set, sizeof set, "model.kv=%s", sli_cache_formats[i].name);
        sl_err err = deploy(&w, set);
        assert_int_equal(w.file.values.model.kv, i);
        assert_int_equal(err, SL_OK);
        leave(&w);
    }
}

/* What engines call them; results go by the names of the table. */
static void takes_formats_by_the_names_of_engines(void **state) {
    (void)state;
    static const struct {
        const char *set;
        const char *path;
        const char *name;
    } cases[] = {
        {"model.kv=auto", "model.kv", "bf16"},
        {"model.kv=fp8_e4m3", "model.kv", "fp8"},
        {"model.kv=fp8_inc", "model.kv", "fp8"},
        {"model.weights=auto", "model.weights", "published"},
        {"model.weights=fp16", "model.weights", "bf16"},
        {"model.weights=fp8_e5m2", "model.weights", "fp8"},
    };
    world w;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(deploy(&w, cases[i].set), SL_OK);
        const sli_model_config *model = &w.file.values.model;
        assert_string_equal(strcmp(cases[i].path, "model.kv") == 0
                                ? sli_cache_formats[model->kv].name
                                : sli_weight_format_or_published[model->weights],
                            cases[i].name);
        assert_string_equal(sli_tree_path(w.file.root, cases[i].path)->text, cases[i].name);
        leave(&w);
    }
    assert_int_equal(deploy(&w, "model.kv=fp32"), SL_ERR_CONFIG);
    leave(&w);
}

static void nothing_is_shared_where_rows_wait(void **state) {
    (void)state;
    world w;
    assert_int_equal(deploy(&w, "model.kv=kivi2"), SL_OK);
    assert_int_equal(w.diag.warning_count, 1);
    assert_string_equal(w.diag.first->path, "model.kv");
    assert_string_equal(w.diag.first->message,
                        "rows that wait in bf16 to be quantised cannot be shared, so no prefix is "
                        "ever found, as with prefix.index: none");
    assert_false(w.deployment.cluster.engine.pool.has_index);
    assert_int_equal(w.deployment.budget.least_blocks, 43 + 1);
    leave(&w);
}

/* The kernels and ways of model/attention.h, in its order, behind auto. */
static void takes_every_kernel_and_way_by_its_name(void **state) {
    (void)state;
    world w;
    char set[64];
    assert_int_equal(deploy(&w, "attention.kernel=auto"), SL_OK);
    assert_int_equal(w.deployment.budget.workspace_bytes, 0);
    leave(&w);
    for (int i = 0; sli_attention_kernels[i].name != NULL; i++) {
        snprintf(set, sizeof set, "attention.kernel=%s", sli_attention_kernels[i].name);
        deploy(&w, set);
        assert_int_equal(w.file.values.attention.kernel, i + 1);
        leave(&w);
    }
    assert_int_equal(deploy(&w, "attention.kernel=fa4"), SL_ERR_CONFIG);
    assert_non_null(strstr(w.diag.first->message, "auto, naive, fa1, fa2, fa3, split_kv"));
    leave(&w);
    static const char *const ways[] = {"auto", "absorbed", "expanded"};
    for (int i = SLI_LATENT_AS_MODEL; i <= SLI_LATENT_EXPANDED; i++) {
        snprintf(set, sizeof set, "attention.mla_decode=%s", ways[i]);
        deploy(&w, set);
        assert_int_equal(w.file.values.attention.decode_way, i);
        leave(&w);
        snprintf(set, sizeof set, "attention.mla_prefill=%s", ways[i]);
        deploy(&w, set);
        assert_int_equal(w.file.values.attention.prefill_way, i);
        leave(&w);
    }
}

/* 131,072 tokens of context and 8,192 of a step: 64 GiB of scores, or 8,192 x 32 sums in fp32. */
static void kernels_reach_the_budget(void **state) {
    (void)state;
    world w;
    assert_int_equal(deploy(&w, "attention.kernel=naive"), SL_ERR_FIT);
    assert_non_null(strstr(w.diag.first->message, "64.00 GiB for the scores of naive attention"));
    leave(&w);
    assert_int_equal(deploy(&w, "attention.kernel=fa3"), SL_OK);
    assert_int_equal(w.deployment.budget.workspace_bytes, 8192 * 32 * 4);
    leave(&w);
}

static void only_latents_can_be_expanded(void **state) {
    (void)state;
    world w;
    assert_int_equal(deploy(&w, "attention.mla_prefill=expanded"), SL_ERR_CONFIG);
    assert_int_equal(w.diag.error_count, 1);
    assert_string_equal(w.diag.first->path, "attention.mla_prefill");
    assert_string_equal(w.diag.first->message,
                        "llama-3.1-8b has no layers of type mla, whose latents are absorbed or "
                        "expanded; leave it at auto");
    leave(&w);
    assert_int_equal(deploy(&w, "attention.mla_decode=absorbed"), SL_ERR_CONFIG);
    assert_string_equal(w.diag.first->path, "attention.mla_decode");
    leave(&w);
}

/* 131,072 bytes a token in bf16, 65,536 in fp8; 8,029,995,008 parameters. */
static void formats_reach_the_budget(void **state) {
    (void)state;
    world w;
    assert_int_equal(deploy(&w, "seed=1"), SL_OK);
    assert_int_equal(w.deployment.budget.block_bytes, 16 * 131072);
    assert_int_equal(w.deployment.budget.weights_bytes, 2 * INT64_C(8029995008));
    leave(&w);
    assert_int_equal(deploy(&w, "model.kv=fp8"), SL_OK);
    assert_int_equal(w.deployment.budget.block_bytes, 16 * 65536);
    assert_int_equal(w.deployment.budget.weights_bytes, 2 * INT64_C(8029995008));
    leave(&w);
    assert_int_equal(deploy(&w, "model.weights=fp8"), SL_OK);
    assert_int_equal(w.deployment.budget.block_bytes, 16 * 131072);
    assert_int_equal(w.deployment.budget.weights_bytes, INT64_C(8029995008));
    leave(&w);
}

static void the_engine_has_the_block_of_the_layout(void **state) {
    (void)state;
    world w;
    assert_int_equal(deploy(&w, "engine.block=32 tokens"), SL_OK);
    assert_int_equal(w.deployment.layout->groups[0].block_tokens, 32);
    assert_int_equal(w.deployment.cluster.engine.pool.block_tokens, 32);
    assert_true(w.deployment.cluster.engine.pool.has_index);
    leave(&w);
}

/* Of a model that has neither windows nor states they change nothing. */
static void windows_and_states_are_choices(void **state) {
    (void)state;
    world w;
    assert_int_equal(deploy(&w, "seed=1"), SL_OK);
    assert_int_equal(w.file.values.memory.window_pages, SLI_WINDOW_FREED);
    assert_int_equal(w.file.values.prefix.states, SLI_STATE_ALIGNED);
    leave(&w);
    static const char *const sets[] = {"memory.window_pages=freed", "memory.window_pages=reserved",
                                       "memory.window_pages=ignored"};
    for (int i = SLI_WINDOW_FREED; i <= SLI_WINDOW_IGNORED; i++) {
        assert_int_equal(deploy(&w, sets[i]), SL_OK);
        assert_int_equal(w.file.values.memory.window_pages, i);
        assert_true(w.deployment.cluster.engine.pool.has_index);
        assert_int_equal(w.diag.warning_count, 0);
        leave(&w);
    }
    assert_int_equal(deploy(&w, "prefix.states=none"), SL_OK);
    assert_int_equal(w.file.values.prefix.states, SLI_STATE_NONE);
    assert_int_equal(w.diag.warning_count, 0);
    leave(&w);
    assert_int_equal(deploy(&w, "prefix.states=all"), SL_ERR_CONFIG);
    leave(&w);
}

static const char latents_text[] =
    "model: {name: deepseek-v3, weights: fp8}\n"
    "hardware: h200\n"
    "replicas: {tp: 8}\n"
    "workload: {source: poisson, rate: 1 /s, requests: 1, prompt: {fixed: 9 tokens}, "
    "output: {fixed: 9 tokens}}\n";

/* Of a decode row, or of a chunk of 4,096 tokens behind as many. */
static double attention_ns(const char *set, bool is_decode) {
    static const sl_batch_shape row = {.tokens = 1,
                                       .sequences = 1,
                                       .emitting = 1,
                                       .decodes = 1,
                                       .decode_kv_tokens = 8192,
                                       .decode_kv_max = 8192};
    static const sl_batch_shape chunk = {.tokens = 4096,
                                         .sequences = 1,
                                         .prefills = 1,
                                         .prefill_tokens = 4096,
                                         .prefill_kv_tokens = 8192,
                                         .prefill_kv_max = 8192,
                                         .prefill_pairs = 4096 * 4096 + 4096 * 4097 / 2};
    world w;
    sl_step_cost cost;
    assert_int_equal(deploy_text(&w, latents_text, set), SL_OK);
    const sl_cost_model *model = &w.deployment.cluster.cost;
    model->ops->step(model->self, is_decode ? &row : &chunk, &cost);
    leave(&w);
    return cost.cause_ns[SL_CAUSE_ATTENTION];
}

/* Absorbed rows and expanded chunks, unless it says otherwise; the other way takes longer. */
static void ways_and_kernels_reach_the_cost_model(void **state) {
    (void)state;
    double row_ns = attention_ns("seed=1", true);
    double chunk_ns = attention_ns("seed=1", false);
    assert_true(attention_ns("attention.mla_decode=absorbed", true) == row_ns);
    assert_true(attention_ns("attention.mla_decode=expanded", true) > row_ns);
    assert_true(attention_ns("attention.mla_decode=expanded", false) == chunk_ns);
    assert_true(attention_ns("attention.mla_prefill=expanded", false) == chunk_ns);
    assert_true(attention_ns("attention.mla_prefill=absorbed", false) > chunk_ns);
    assert_true(attention_ns("attention.mla_prefill=absorbed", true) == row_ns);
    assert_true(attention_ns("attention.kernel=fa1", false) > chunk_ns);
}

/* ---- Room ---- */

static bool fits_at(const char *model, const char *weights, int64_t tp) {
    char text[512];
    world w;
    snprintf(text, sizeof text,
             "model: {name: %s, weights: %s}\n"
             "hardware: h200\n"
             "workload: {source: poisson, rate: 1 /s, requests: 1, prompt: {fixed: 9 tokens}, "
             "output: {fixed: 9 tokens}}\n",
             model, weights);
    char set[32];
    snprintf(set, sizeof set, "replicas.tp=%lld", (long long)tp);
    sl_err err = deploy_text(&w, text, set);
    assert_true(err == SL_OK || err == SL_ERR_FIT || err == SL_ERR_CONFIG);
    leave(&w);
    return err == SL_OK;
}

/* The first format of weights in which a model fits on up to eight H200. */
static const char *format_for(const char *model) {
    for (const sli_weight_format *it = sli_weight_formats; it->name != NULL; it++) {
        for (int64_t tp = 8; tp >= 1; tp /= 2) {
            if (fits_at(model, it->name, tp)) {
                return it->name;
            }
        }
    }
    return "none";
}

/* README.md says so. Eight H200 may hold 8 x 0.9 x 143,771 MiB, 1.085e12 bytes: in bf16 models of
 * less than 543 billion parameters, in fp8 of 1,085, in 4.5 bits of 1,930. DeepSeek-V4-Pro has
 * 1,600 billion, Kimi K3 2,780, which would be 4.25 bits in mxfp4: 1.477e12 bytes. */
static void eight_h200_have_room_for_most_models(void **state) {
    (void)state;
    static const struct {
        const char *weights;
        const char *models[8];
    } cases[] = {
        {"fp8", {"deepseek-v3", "deepseek-v3.2", "glm-5", "glm-5.2", "kimi-k2", "kimi-k2.5", NULL}},
        {"q4_0", {"deepseek-v4-pro", NULL}},
        {"q1_0", {"kimi-k3", "kimi-k3.1-pro", NULL}},
    };
    int in_bf16 = 0;
    for (const sli_embedded *file = sli_model_files; file->name != NULL; file++) {
        const char *expected = "bf16";
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            for (size_t j = 0; cases[i].models[j] != NULL; j++) {
                bool is_it = strcmp(cases[i].models[j], file->name) == 0;
                expected = is_it ? cases[i].weights : expected;
            }
        }
        const char *found = format_for(file->name);
        if (strcmp(found, expected) != 0) {
            fail_msg("%s fits in %s", file->name, found);
        }
        in_bf16 += strcmp(found, "bf16") == 0;
    }
    assert_int_equal(in_bf16, 65);
}

/* Blocks that were asked for are taken; where they do not fit a warning says what is missing. */
static void blocks_without_room_are_a_warning(void **state) {
    (void)state;
    world w;
    assert_int_equal(deploy(&w, "memory.kv_blocks=auto"), SL_OK);
    int64_t blocks = w.deployment.budget.blocks;
    leave(&w);
    for (int more = 0; more < 2; more++) {
        char set[48];
        snprintf(set, sizeof set, "memory.kv_blocks=%lld", (long long)(blocks + more));
        assert_int_equal(deploy(&w, set), SL_OK);
        assert_int_equal(w.diag.warning_count, more);
        assert_int_equal(w.deployment.budget.blocks, blocks + more);
        leave(&w);
    }
    assert_int_equal(deploy(&w, "memory.kv_blocks=1000000"), SL_OK);
    /* 2 MiB each; what is left is that of the blocks that fit and less than one more */
    double missing_gib = (1000000.0 - (double)blocks) / 512.0;
    double said_gib = 0.0;
    assert_string_equal(w.diag.first->path, "memory.kv_blocks");
    assert_int_equal(sscanf(w.diag.first->message,
                            "taken as asked for, but h100-sxm at tp 1 has no room for so many: %lf "
                            "GiB are missing on each device",
                            &said_gib),
                     1);
    assert_true(said_gib <= missing_gib + 0.005 && said_gib >= missing_gib - 1.0 / 512.0 - 0.005);
    leave(&w);
}

/* ---- Stages ---- */

static void only_one_stage_can_run(void **state) {
    (void)state;
    world w;
    assert_int_equal(deploy(&w, "replicas.pp=1"), SL_OK);
    leave(&w);
    assert_int_equal(deploy(&w, "replicas.pp=2"), SL_ERR_CONFIG);
    assert_int_equal(w.diag.error_count, 1);
    assert_string_equal(w.diag.first->path, "replicas.pp");
    assert_non_null(strstr(w.diag.first->message, "runs have no pipeline stages yet"));
    leave(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_every_format_by_its_name),
        cmocka_unit_test(takes_formats_by_the_names_of_engines),
        cmocka_unit_test(nothing_is_shared_where_rows_wait),
        cmocka_unit_test(takes_every_kernel_and_way_by_its_name),
        cmocka_unit_test(kernels_reach_the_budget),
        cmocka_unit_test(only_latents_can_be_expanded),
        cmocka_unit_test(ways_and_kernels_reach_the_cost_model),
        cmocka_unit_test(formats_reach_the_budget),
        cmocka_unit_test(the_engine_has_the_block_of_the_layout),
        cmocka_unit_test(windows_and_states_are_choices),
        cmocka_unit_test(eight_h200_have_room_for_most_models),
        cmocka_unit_test(blocks_without_room_are_a_warning),
        cmocka_unit_test(only_one_stage_can_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
