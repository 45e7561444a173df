/*
 * Deployments that throw tokens out: what is refused, what is warned of, and what the facts of a
 * run say about it.
 */
#include "run/execute.h"

#include "kv/layout_held.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char scenario_text[] =
    "model: llama-3.1-8b\n"
    "hardware: h100-sxm\n"
    "workload: {source: poisson, rate: 1 /s, requests: 1, prompt: {fixed: 900 tokens}, "
    "output: {fixed: 9 tokens}}\n"
    "output: {dir: none}\n";

typedef struct world {
    sli_scenario_file file;
    sli_diag diag;
    sli_deployment deployment;
} world;

/* The deployment with two more settings, of which the second may be NULL. */
static sl_err deploy(world *w, const char *keep, const char *set) {
    const char *const sets[] = {keep, set};
    *w = (world){0};
    sl_err err = sli_scenario_read_text("s.yaml", scenario_text, sets, set != NULL ? 2 : 1,
                                        &w->diag, &w->file);
    return err == SL_OK ? sli_deployment_create(&w->file, &w->diag, &w->deployment) : err;
}

static void leave(world *w) {
    sli_deployment_destroy(&w->deployment);
    sli_scenario_close(&w->file);
    sli_diag_fini(&w->diag);
}

static void expect_error(const char *keep, const char *set, const char *path, const char *message) {
    world w;
    assert_int_equal(deploy(&w, keep, set), SL_ERR_CONFIG);
    assert_int_equal(w.diag.error_count, 1);
    const sli_diag_entry *entry = w.diag.first;
    while (entry->severity != SLI_ERROR) {
        entry = entry->next;
    }
    assert_string_equal(entry->path, path);
    assert_string_equal(entry->message, message);
    leave(&w);
}

static void what_cannot_work_is_refused(void **state) {
    (void)state;
    expect_error("keep=h20", NULL, "keep",
                 "expected one of none, h2o, pyramid_infer, pyramid_kv, scissorhands, snapkv, "
                 "streaming_llm; found 'h20'; a policy of your own needs plugin: FILE.so");
    expect_error("keep={method: h2o, heavy: 0.8, recent: 0.3}", NULL, "keep",
                 "h2o: heavy and recent together are more than the whole prompt");
    expect_error("keep=h2o", "model=deepseek-v3", "keep",
                 "h2o throws out tokens that layers of type gqa without window, chunk or chosen "
                 "blocks keep; deepseek-v3: its layers with 'mla' (type mla) keep all tokens in "
                 "another way");
    expect_error("keep=snapkv", "cost=pnorm", "cost",
                 "pnorm was fitted to full gqa attention and dense feed-forwards in bf16; not "
                 "measured of llama-3.1-8b: attention of snapkv; use roofline");
}

/* As what is kept cannot be shared, the index is off, whatever the scenario says. */
static void no_prefix_is_found_and_a_warning_says_so(void **state) {
    (void)state;
    world w;
    assert_int_equal(deploy(&w, "keep=h2o", NULL), SL_OK);
    assert_int_equal(w.diag.warning_count, 2); /* the other is about the cost */
    assert_string_equal(w.diag.first->path, "keep");
    assert_string_equal(w.diag.first->message,
                        "what h2o keeps depends on the whole prompt and cannot be shared, so no "
                        "prefix is ever found, as with prefix.index: none");
    assert_false(w.deployment.cluster.engine.pool.has_index);
    assert_string_equal(w.deployment.architecture->keep, "h2o");
    leave(&w);
    assert_int_equal(deploy(&w, "keep=h2o", "prefix.index=none"), SL_OK);
    assert_int_equal(w.diag.warning_count, 1);
    assert_string_equal(w.diag.first->path, "cost");
    leave(&w);
    assert_int_equal(deploy(&w, "keep=none", NULL), SL_OK);
    assert_int_equal(w.diag.warning_count, 0);
    assert_true(w.deployment.cluster.engine.pool.has_index);
    assert_null(w.deployment.architecture->keep);
    leave(&w);
}

static bool assumes(const sli_deployment *deployment, const char *phrase) {
    for (size_t i = 0; i < deployment->assumed_count; i++) {
        if (strcmp(deployment->assumed[i], phrase) == 0) {
            return true;
        }
    }
    return false;
}

/* With auto the roofline takes over, and given times assume nothing but the answers. */
static void quality_and_work_are_named_as_assumed(void **state) {
    (void)state;
    static const char answers[] = "answers with keep: h2o, as good and as long as without; quality "
                                  "is not simulated";
    static const char work[] = "attention of h2o over the tokens that stay, and what it computes "
                               "besides, as its description has it";
    world w;
    assert_int_equal(deploy(&w, "keep=h2o", NULL), SL_OK);
    assert_true(assumes(&w.deployment, answers));
    assert_true(assumes(&w.deployment, work));
    assert_int_equal(w.deployment.cluster.cost.growth_count, 1);
    leave(&w);
    assert_int_equal(deploy(&w, "keep=h2o", "cost={fixed: {step: 1 ms}}"), SL_OK);
    assert_int_equal(w.deployment.assumed_count, 1);
    assert_true(assumes(&w.deployment, answers));
    leave(&w);
    assert_int_equal(deploy(&w, "keep=none", NULL), SL_OK);
    assert_false(assumes(&w.deployment, answers));
    leave(&w);
}

/* A method of the user's own counts like those built in. */
static void methods_come_from_plugins_too(void **state) {
    (void)state;
    world w;
    assert_int_equal(deploy(&w, "plugin=" PLUGIN_KEEP, "keep=half"), SL_OK);
    assert_string_equal(w.deployment.architecture->keep, "half");
    const sli_layout *layout = w.deployment.layout;
    assert_int_equal(sli_layout_request_pages(layout, 900, 909), (450 + 15) / 16);
    leave(&w);
    static const struct {
        const char *keep;
        const char *message;
    } mistakes[] = {
        {"keep=broken", "broken: the policy's rule or work has a number out of its range"},
        {"keep=rare", "rare: the policy's rule or work has a number out of its range"},
        {"keep=far", "far: the policy's rule or work has a number out of its range"},
        {"keep=tall", "tall: the policy says that layer 3 keeps 131073 of 131072 tokens"},
        {"keep=empty", "empty: the policy says that layer 31 keeps 0 of 131072 tokens"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        expect_error("plugin=" PLUGIN_KEEP, mistakes[i].keep, "keep", mistakes[i].message);
    }
}

/* Attention and three works besides of each pair; a look at no more than the context has. */
static void all_work_there_is_can_be_asked_for(void **state) {
    (void)state;
    world w;
    assert_int_equal(deploy(&w, "plugin=" PLUGIN_KEEP, "keep=busy"), SL_OK);
    const sli_layer_run *runs = w.deployment.architecture->layers.rows;
    assert_int_equal(runs[0].mixer->facts.prefill_count, 4);
    assert_int_equal(runs[0].mixer->facts.decode_count, 3);
    leave(&w);
}

/* Orca in a pool of so many blocks. */
static sl_err deploy_orca(world *w, const char *keep, const char *kv_blocks) {
    const char *const sets[] = {"engine={policy: orca, max_model_len: 4096 tokens}",
                                "prefix.index=none", kv_blocks, keep};
    *w = (world){0};
    sl_err err = sli_scenario_read_text("s.yaml", scenario_text, sets, 4, &w->diag, &w->file);
    return err == SL_OK ? sli_deployment_create(&w->file, &w->diag, &w->deployment) : err;
}

/* It reserves for the longest context, whatever part of that is prompt. A prompt of 4,096 tokens is
 * kept whole in 256 blocks until it is computed; a window of 2,048 has 128. PyramidInfer leaves 77
 * blocks of such a prompt, but 128 of one token and 4,095 behind it. */
static void what_orca_reserves_must_fit(void **state) {
    (void)state;
    static const struct {
        const char *keep;
        const char *too_few;
        const char *enough;
        const char *said;
    } cases[] = {
        {"keep=h2o", "memory.kv_blocks=255", "memory.kv_blocks=256", "reserves 256 blocks"},
        {"keep=streaming_llm", "memory.kv_blocks=127", "memory.kv_blocks=128",
         "reserves 128 blocks"},
        {"keep=pyramid_infer", "memory.kv_blocks=127", "memory.kv_blocks=128",
         "reserves 128 blocks"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        world w;
        assert_int_equal(deploy_orca(&w, cases[i].keep, cases[i].too_few), SL_ERR_FIT);
        assert_non_null(strstr(w.diag.last->message, cases[i].said));
        leave(&w);
        assert_int_equal(deploy_orca(&w, cases[i].keep, cases[i].enough), SL_OK);
        leave(&w);
    }
}

/* ---- Facts ---- */

typedef struct run {
    sli_scenario_file file;
    sli_diag diag;
    sli_execution execution;
} run;

/* With a second setting, or NULL. */
static void run_with(run *it, const char *keep, const char *set) {
    const char *const sets[] = {keep, set};
    *it = (run){0};
    assert_int_equal(sli_scenario_read_text("s.yaml", scenario_text, sets, set != NULL ? 2 : 1,
                                            &it->diag, &it->file),
                     SL_OK);
    it->execution.file = &it->file;
    assert_int_equal(sli_execution_run(&it->execution, &it->diag), SL_OK);
}

static void end(run *it) {
    sli_execution_fini(&it->execution);
    sli_scenario_close(&it->file);
    sli_diag_fini(&it->diag);
}

static void facts_say_what_stays_and_carry_what_is_given(void **state) {
    (void)state;
    run it;
    run_with(&it, "keep=none", NULL);
    assert_null(it.execution.facts.keep.method);
    end(&it);
    run_with(&it, "keep=snapkv", NULL);
    const sli_fact_keep *keep = &it.execution.facts.keep;
    assert_string_equal(keep->method, "snapkv");
    assert_string_equal(keep->budget, "4,096 tokens of the prompt and all behind it");
    assert_null(keep->layers);
    assert_int_equal(it.execution.facts.quality_count, 0);
    end(&it);
    run_with(&it, "keep=pyramid_kv", "quality=[[12 %, LongBench, 40.5, Cai 2024]]");
    keep = &it.execution.facts.keep;
    assert_string_equal(keep->layers,
                        "of 131,072 tokens 3,933 in the first layer and 163 in the last");
    const sli_run_facts *facts = &it.execution.facts;
    assert_int_equal(facts->quality_count, 1);
    assert_string_equal(facts->quality[0].setting, "12 %");
    assert_string_equal(facts->quality[0].measure, "LongBench");
    assert_true(facts->quality[0].figure == 40.5);
    assert_string_equal(facts->quality[0].source, "Cai 2024");
    end(&it);
}

/* Budgets far beyond the context are none, need no memory of their own and change nothing. */
static void budgets_beyond_the_context_keep_all(void **state) {
    (void)state;
    static const char context[] = "engine.max_model_len=131072 tokens";
    static const char just[] = "keep={method: scissorhands, budget: 131072 tokens, drop: 1 tokens, "
                               "history: 131072 tokens}";
    static const char far[] = "keep={method: scissorhands, budget: 1e9 tokens, drop: 1e9 tokens, "
                              "history: 1e9 tokens}";
    world w;
    assert_int_equal(deploy(&w, far, context), SL_OK);
    const sli_layer_run *runs = w.deployment.architecture->layers.rows;
    const sl_kept *rule = runs[0].mixer->facts.stores[0].read.kept;
    assert_int_equal(rule->cap_rows, INT64_MAX);
    assert_int_equal(rule->drop_rows, 0);
    assert_int_equal(w.deployment.cluster.cost.growth_count, 1); /* the second look sees all */
    leave(&w);
    run a;
    run b;
    run_with(&a, just, context);
    run_with(&b, far, context);
    assert_int_equal(a.execution.facts.digest, b.execution.facts.digest);
    end(&a);
    end(&b);
}

/* What is saved beside the results runs to the same digest. */
static void the_resolved_scenario_runs_again(void **state) {
    (void)state;
    run it;
    run again = {0};
    run_with(&it, "keep={method: h2o, heavy: 0.05}", "quality=[[15 %, ROUGE, 11, x y]]");
    assert_int_equal(sli_scenario_read_text("again.yaml", it.execution.facts.scenario, NULL, 0,
                                            &again.diag, &again.file),
                     SL_OK);
    again.execution.file = &again.file;
    assert_int_equal(sli_execution_run(&again.execution, &again.diag), SL_OK);
    assert_int_equal(again.execution.facts.digest, it.execution.facts.digest);
    assert_string_equal(again.execution.facts.keep.budget, "15 % of the prompt");
    assert_string_equal(again.execution.facts.quality[0].source, "x y");
    end(&it);
    end(&again);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_work_is_refused),
        cmocka_unit_test(no_prefix_is_found_and_a_warning_says_so),
        cmocka_unit_test(quality_and_work_are_named_as_assumed),
        cmocka_unit_test(methods_come_from_plugins_too),
        cmocka_unit_test(all_work_there_is_can_be_asked_for),
        cmocka_unit_test(what_orca_reserves_must_fit),
        cmocka_unit_test(facts_say_what_stays_and_carry_what_is_given),
        cmocka_unit_test(budgets_beyond_the_context_keep_all),
        cmocka_unit_test(the_resolved_scenario_runs_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
