/*
 * The loader, with real shared objects: policies/TEMPLATE.c as it is, and three that must not load.
 *
 * The template is linked in as well, without SL_POLICY_PLUGIN, and asked to decide. PLUGIN_... are
 * the paths of the objects.
 */
#include "plug/loader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

extern const sl_policy_table sl_policies_TEMPLATE;

typedef struct loaded {
    sli_registry registry;
    sli_plugin plugin;
    sli_diag diag;
} loaded;

static sl_err load(loaded *it, const char *path) {
    const sli_mark mark = {.file = "scenario.yaml", .line = 3, .column = 5};
    return sli_plugin_open(path, mark, &it->registry, &it->diag, &it->plugin);
}

static void unload(loaded *it) {
    sli_registry_fini(&it->registry);
    sli_plugin_close(&it->plugin);
    sli_diag_fini(&it->diag);
}

/* Nothing registered, nothing left open, and one error whose text has `part` in it. */
static void assert_refused(const char *path, const char *file, const char *part) {
    loaded it = {0};
    assert_int_equal(load(&it, path), SL_ERR_CONFIG);
    assert_int_equal(it.registry.count, 0);
    assert_null(it.plugin.handle);
    assert_int_equal(it.diag.error_count, 1);
    assert_string_equal(it.diag.first->mark.file, file);
    if (strstr(it.diag.first->message, part) == NULL) {
        fail_msg("'%s' is not in '%s'", part, it.diag.first->message);
    }
    unload(&it);
}

/* ---- Loading ---- */

static void a_plugin_is_the_policy_that_is_built_in(void **state) {
    (void)state;
    loaded it = {0};
    assert_int_equal(load(&it, PLUGIN_TEMPLATE), SL_OK);
    assert_non_null(it.plugin.handle);
    assert_int_equal(it.registry.count, 1);
    const sl_policy *policy = sli_registry_find(&it.registry, SL_POLICY_BATCH, "template");
    assert_non_null(policy);

    sli_registry built_in = {0};
    assert_int_equal(sli_registry_add(&built_in, &sl_policies_TEMPLATE, "built in", &it.diag),
                     SL_OK);
    const sl_policy *twin = sli_registry_find(&built_in, SL_POLICY_BATCH, "template");
    assert_non_null(twin);
    assert_ptr_not_equal(policy, twin);
    assert_string_equal(policy->summary, twin->summary);
    assert_int_equal(policy->instance_bytes, twin->instance_bytes);
    assert_int_equal(policy->param_count, 1);
    assert_int_equal(twin->param_count, 1);
    assert_string_equal(policy->params[0].name, twin->params[0].name);
    sli_registry_fini(&built_in);
    unload(&it);
}

static void a_plugin_loaded_twice_finds_its_names_taken(void **state) {
    (void)state;
    loaded it = {0};
    assert_int_equal(load(&it, PLUGIN_TEMPLATE), SL_OK);
    const sli_plugin first = it.plugin;
    assert_int_equal(load(&it, PLUGIN_TEMPLATE), SL_ERR_CONFIG);
    assert_ptr_equal(it.plugin.handle, first.handle); /* untouched */
    assert_non_null(strstr(it.diag.first->message, "'template' has a name that is taken"));
    assert_string_equal(it.diag.first->mark.file, PLUGIN_TEMPLATE);
    const sl_policy *policy = sli_registry_find(&it.registry, SL_POLICY_BATCH, "template");
    assert_string_equal(policy->name, "template"); /* still mapped */
    unload(&it);
    assert_null(it.plugin.handle);
    sli_plugin_close(&it.plugin); /* closed is as never opened */
}

/* A bare name is a file here, not a library of the system. */
static void a_name_without_a_slash_is_a_file_of_the_working_directory(void **state) {
    (void)state;
    const char *slash = strrchr(PLUGIN_TEMPLATE, '/');
    char *folder = strndup(PLUGIN_TEMPLATE, (size_t)(slash - PLUGIN_TEMPLATE));
    assert_non_null(folder);
    assert_int_equal(chdir(folder), 0);
    free(folder);
    loaded it = {0};
    assert_int_equal(load(&it, slash + 1), SL_OK);
    unload(&it);
    assert_refused("libm.so.6", "scenario.yaml", "./libm.so.6");
}

static void refuses_what_is_no_plugin(void **state) {
    (void)state;
    assert_refused("/nowhere/none.so", "scenario.yaml", "cannot load the policy file");
    assert_refused(__FILE__, "scenario.yaml", "cannot load the policy file");
    assert_refused(PLUGIN_WITHOUT_TABLE, "scenario.yaml", "exports no sl_policies");
    assert_refused(PLUGIN_OLD_ABI, PLUGIN_OLD_ABI, "policy interface 2, this program has 1");
    assert_refused(PLUGIN_HALF_BAD, PLUGIN_HALF_BAD, "'half_bad' decides nothing");
}

/* ---- What the template decides, told to a host that only writes down what it hears ---- */

typedef struct host {
    sl_plan plan;  /* first: a plan is what a policy sees of a host */
    int short_for; /* decode_all is short until so many were preempted */
    int waiting;
    int room; /* admissions that fit */
    int preempted;
    int admitted;
    char log[64]; /* d decode, p preempt, a admit, x refused */
} host;

static host *host_of(const sl_plan *plan) {
    return (host *)plan;
}

static void note(host *it, const char *word) {
    strncat(it->log, word, sizeof it->log - strlen(it->log) - 1);
}

static void look(const sl_plan *plan, sl_plan_view *view) {
    *view = (sl_plan_view){.has_preempted = host_of(plan)->preempted > 0};
}

/* Requests are numbers here, which a policy cannot tell; 0 ends a list. */
static sl_request *numbered(intptr_t number) {
    return (sl_request *)number;
}

static sl_request *first_waiting(const sl_plan *plan) {
    const host *it = host_of(plan);
    return numbered(it->admitted < it->waiting ? it->admitted + 1 : 0);
}

static sl_request *next_waiting(const sl_plan *plan, const sl_request *request) {
    intptr_t next = (intptr_t)request + 1;
    return numbered(next <= host_of(plan)->waiting ? next : 0);
}

static sl_request *victim(const sl_plan *plan) {
    (void)plan;
    return numbered(99);
}

static sl_answer decode_all(sl_plan *plan, int64_t tokens_each) {
    host *it = host_of(plan);
    assert_int_equal(tokens_each, 1);
    note(it, "d");
    bool is_short = it->preempted < it->short_for;
    return (sl_answer){.code = is_short ? SL_ANSWER_SHORT : SL_ANSWER_OK};
}

static sl_answer preempt(sl_plan *plan, sl_request *running, sl_preempt_mode mode) {
    host *it = host_of(plan);
    assert_ptr_equal(running, numbered(99));
    assert_int_equal(mode, SL_PREEMPT_RECOMPUTE);
    note(it, "p");
    it->preempted++;
    return (sl_answer){.code = SL_ANSWER_OK};
}

static sl_answer admit(sl_plan *plan, sl_request *request, const sl_admission *admission) {
    host *it = host_of(plan);
    assert_true(admission->all_or_nothing);
    assert_ptr_equal(request, numbered(it->admitted + 1)); /* in order */
    note(it, it->admitted < it->room ? "a" : "x");
    if (it->admitted >= it->room) {
        return (sl_answer){.code = SL_ANSWER_SHORT};
    }
    it->admitted++;
    return (sl_answer){.code = SL_ANSWER_OK};
}

static const sl_plan_ops host_ops = {
    .view = look,
    .first_waiting = first_waiting,
    .next_waiting = next_waiting,
    .victim = victim,
    .decode_all = decode_all,
    .admit = admit,
    .preempt = preempt,
};

static void assert_decides(host it, int64_t max_prompts, const char *expected) {
    const sl_policy *policy = sl_policies_TEMPLATE.policies[0];
    assert_int_equal(policy->instance_bytes, sizeof max_prompts);
    it.plan.ops = &host_ops;
    ((const sl_batch_policy *)policy)->plan(&max_prompts, &it.plan);
    assert_string_equal(it.log, expected);
}

static void the_template_decodes_then_admits_in_order(void **state) {
    (void)state;
    assert_decides((host){.waiting = 0}, 9, "d");
    assert_decides((host){.waiting = 3, .room = 9}, 9, "daaa");
    assert_decides((host){.waiting = 3, .room = 9}, 2, "daa");
    assert_decides((host){.waiting = 3, .room = 1}, 9, "dax"); /* nobody overtakes */
    assert_decides((host){.waiting = 3, .room = 9, .short_for = 2}, 9, "dpdpd");
}

static void the_template_refuses_steps_that_are_too_small(void **state) {
    (void)state;
    const sl_policy *policy = sl_policies_TEMPLATE.policies[0];
    int64_t instance = 0;
    char why[128] = "";
    sl_policy_env env = {.max_batched_tokens = 4096, .max_seqs = 64, .max_model_tokens = 4096};
    assert_int_equal(policy->init(&instance, &env, why, sizeof why), SL_OK);
    env.max_model_tokens = 4097;
    assert_int_equal(policy->init(&instance, &env, why, sizeof why), SL_ERR_CONFIG);
    assert_non_null(strstr(why, "4097"));
    env.max_model_tokens = 4096;
    env.max_seqs = 5000;
    assert_int_equal(policy->init(&instance, &env, why, sizeof why), SL_ERR_CONFIG);
    assert_non_null(strstr(why, "5000"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plugin_is_the_policy_that_is_built_in),
        cmocka_unit_test(a_plugin_loaded_twice_finds_its_names_taken),
        cmocka_unit_test(a_name_without_a_slash_is_a_file_of_the_working_directory),
        cmocka_unit_test(refuses_what_is_no_plugin),
        cmocka_unit_test(the_template_decodes_then_admits_in_order),
        cmocka_unit_test(the_template_refuses_steps_that_are_too_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
