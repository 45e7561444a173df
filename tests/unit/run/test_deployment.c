/*
 * What a scenario says about formats and pages, as its deployment understands it.
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

/* The deployment with one more setting. */
static sl_err deploy(world *w, const char *set) {
    *w = (world){0};
    sl_err err = sli_scenario_read_text("s.yaml", scenario_text, &set, 1, &w->diag, &w->file);
    return err == SL_OK ? sli_deployment_create(&w->file, &w->diag, &w->deployment) : err;
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
        assert_int_equal(w.file.values.model.weights, i);
        assert_non_null(w.deployment.layout);
        leave(&w);
    }
    for (int i = 0; sli_cache_formats[i].name != NULL; i++) {
        snprintf(set, sizeof set, "model.kv=%s", sli_cache_formats[i].name);
        sl_err err = deploy(&w, set);
        assert_int_equal(w.file.values.model.kv, i);
        bool is_refused = sli_format_has_residual(&sli_cache_formats[i]);
        assert_int_equal(err, is_refused ? SL_ERR_CONFIG : SL_OK);
        leave(&w);
    }
}

static void says_why_a_format_cannot_be_run(void **state) {
    (void)state;
    world w;
    assert_int_equal(deploy(&w, "model.kv=kivi2"), SL_ERR_CONFIG);
    assert_int_equal(w.diag.error_count, 1);
    assert_string_equal(w.diag.first->path, "model.kv");
    assert_string_equal(w.diag.first->message,
                        "the cache of llama-3.1-8b cannot be cut into pages: kivi2 keeps the "
                        "latest rows in bf16, outside of blocks; sluice estimate counts it");
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_every_format_by_its_name),
        cmocka_unit_test(says_why_a_format_cannot_be_run),
        cmocka_unit_test(formats_reach_the_budget),
        cmocka_unit_test(the_engine_has_the_block_of_the_layout),
        cmocka_unit_test(windows_and_states_are_choices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
