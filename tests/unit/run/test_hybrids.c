/*
 * Deployments of models whose layers keep different things, and ranks that copy heads.
 */
#include "run/deployment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define SETS_MAX 4

static const char scenario_text[] =
    "model: gpt-oss-20b\n"
    "hardware: h200\n"
    "cost: {fixed: {step: 1 ms}}\n"
    "workload: {source: poisson, rate: 1 /s, requests: 1, prompt: {fixed: 9 tokens}, "
    "output: {fixed: 9 tokens}}\n";

typedef struct world {
    sli_scenario_file file;
    sli_diag diag;
    sli_deployment deployment;
} world;

/* The deployment with more settings, which end in NULL. */
static sl_err deploy(world *w, const char *const *sets) {
    size_t count = 0;
    *w = (world){0};
    while (sets[count] != NULL) {
        count++;
    }
    sl_err err = sli_scenario_read_text("s.yaml", scenario_text, sets, count, &w->diag, &w->file);
    return err == SL_OK ? sli_deployment_create(&w->file, &w->diag, &w->deployment) : err;
}

static void leave(world *w) {
    sli_deployment_destroy(&w->deployment);
    sli_scenario_close(&w->file);
    sli_diag_fini(&w->diag);
}

/* ---- What is shared ---- */

/* Reserved windows and states that nobody saves leave nothing to be found: that is said where it
 * was asked for, unless nothing was to be found anyway. */
static void says_so_where_nothing_can_be_shared(void **state) {
    (void)state;
    static const struct {
        const char *sets[SETS_MAX];
        bool has_index;
        const char *path; /* of the warning */
        const char *clause;
    } cases[] = {
        {{"seed=1"}, true, NULL, NULL},
        {{"memory.window_pages=ignored"}, true, NULL, NULL},
        {{"memory.window_pages=reserved"},
         false,
         "memory.window_pages",
         "the pages of reserved windows cannot be shared, so no prefix is ever found"},
        {{"memory.window_pages=reserved", "prefix.index=none"}, false, NULL, NULL},
        {{"prefix.index=none"}, false, NULL, NULL},
        {{"prefix.states=none"}, true, NULL, NULL}, /* it has none */
        {{"model=qwen3.5-9b"}, true, NULL, NULL},
        {{"model=qwen3.5-9b", "memory.window_pages=reserved"}, true, NULL, NULL},
        {{"model=qwen3.5-9b", "prefix.states=none"},
         false,
         "prefix.states",
         "no state of recurrent layers is saved, so no prefix is ever found"},
        {{"model=qwen3.5-9b", "prefix.states=none", "prefix.index=none"}, false, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        world w;
        assert_int_equal(deploy(&w, cases[i].sets), SL_OK);
        assert_int_equal(w.deployment.cluster.engine.pool.has_index, cases[i].has_index);
        assert_int_equal(w.diag.warning_count, cases[i].path != NULL);
        if (cases[i].path != NULL) {
            assert_string_equal(w.diag.first->path, cases[i].path);
            assert_non_null(strstr(w.diag.first->message, cases[i].clause));
        }
        leave(&w);
    }
}

/* ---- Blocks ---- */

/* A state of Qwen3.5 9B has 2,146,304 bytes, a token of a full layer 4,096: 524 tokens, 528 in
 * blocks of 16. The engine, its policies and its pool have the block that attention has then. */
static void the_engine_has_the_block_that_holds_a_state(void **state) {
    (void)state;
    static const char *const sets[] = {"model=qwen3.5-9b", "memory.kv_blocks=100", NULL};
    world w;
    assert_int_equal(deploy(&w, sets), SL_OK);
    const sli_engine_config *engine = &w.deployment.cluster.engine;
    assert_int_equal(w.file.values.engine.block_tokens, 16);
    assert_int_equal(engine->pool.block_tokens, 528);
    assert_int_equal(engine->pool.block_count, 100);
    assert_ptr_equal(engine->pool.layout, w.deployment.layout);
    assert_int_equal(w.deployment.budget.least_blocks, 4);
    leave(&w);
}

/* Ranks beyond the 4 key-value heads have copies of them: 1,024 bytes a token and layer of one
 * head, on 4 ranks and on 8; an eighth of a state. */
static void heads_are_copied_on_more_ranks(void **state) {
    (void)state;
    static const char *const four[] = {"model=qwen3.5-9b", "replicas.tp=4", NULL};
    static const char *const eight[] = {"model=qwen3.5-9b", "replicas.tp=8", NULL};
    world w;
    assert_int_equal(deploy(&w, four), SL_OK);
    assert_int_equal(w.deployment.layout->page_bytes, 8 * 528 * 1024);
    int64_t weights_bytes = w.deployment.budget.weights_bytes;
    leave(&w);
    assert_int_equal(deploy(&w, eight), SL_OK);
    assert_int_equal(w.deployment.layout->page_bytes, 8 * 272 * 1024);
    assert_true(w.deployment.budget.weights_bytes > weights_bytes / 2);
    leave(&w);
}

/* 12 of 24 layers have a window. Orca knows no budget of a step, so a prompt of 131,072 tokens may
 * be computed in one: until that ends a request holds 8,192 blocks of these, as of the others. */
static void reservations_are_told_in_pages(void **state) {
    (void)state;
    static const char *const plain[] = {"model=llama-3.1-8b", "engine.policy=orca",
                                        "prefix.index=none", "memory.kv_blocks=100", NULL};
    static const char *const groups[] = {"engine.policy=orca", "prefix.index=none",
                                         "memory.kv_blocks=16383", NULL};
    static const char *const enough[] = {"engine.policy=orca", "prefix.index=none",
                                         "memory.kv_blocks=16384", NULL};
    world w;
    assert_int_equal(deploy(&w, plain), SL_ERR_FIT);
    assert_string_equal(w.diag.first->message,
                        "'orca' reserves 8,192 blocks for a request (max_model_len 131,072 "
                        "tokens), the cache has 100; lower engine.max_model_len or raise "
                        "replicas.tp");
    leave(&w);
    assert_int_equal(deploy(&w, groups), SL_ERR_FIT);
    assert_string_equal(w.diag.first->message,
                        "'orca' reserves 16,384 pages for a request (max_model_len 131,072 "
                        "tokens), the cache has 16,383; lower engine.max_model_len or raise "
                        "replicas.tp");
    leave(&w);
    assert_int_equal(deploy(&w, enough), SL_OK);
    leave(&w);
}

/* ---- Cutting ---- */

/* What is wrong with tp is said once, at its place, and the cost model does not add to it. */
static void ranks_that_do_not_divide_are_one_mistake(void **state) {
    (void)state;
    static const char *const sets[] = {"model=phi-4-14b", "replicas.tp=4", "cost=pnorm", NULL};
    world w;
    assert_int_equal(deploy(&w, sets), SL_ERR_CONFIG);
    assert_int_equal(w.diag.error_count, 1);
    assert_string_equal(w.diag.first->path, "replicas.tp");
    assert_string_equal(w.diag.first->message,
                        "4 ranks do not share out the 10 heads of phi-4-14b evenly; 1 and 2 do");
    leave(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_so_where_nothing_can_be_shared),
        cmocka_unit_test(the_engine_has_the_block_that_holds_a_state),
        cmocka_unit_test(heads_are_copied_on_more_ranks),
        cmocka_unit_test(reservations_are_told_in_pages),
        cmocka_unit_test(ranks_that_do_not_divide_are_one_mistake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
