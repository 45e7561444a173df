/* The registry: what it takes, what it refuses, and that it takes all of a table or none. */
#include "plug/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void plan_nothing(void *self, sl_plan *plan) {
    (void)self;
    (void)plan;
}

static uint32_t route_to_first(void *self, const sl_route_view *view) {
    (void)self;
    (void)view;
    return 0;
}

static sl_batch_policy batch_policy(const char *name) {
    return (sl_batch_policy){
        .policy = {SL_POLICY_HEAD(sl_batch_policy, SL_POLICY_BATCH), .name = name,
                   .summary = "for tests"},
        .plan = plan_nothing,
    };
}

static sl_route_policy route_policy(const char *name) {
    return (sl_route_policy){
        .policy = {SL_POLICY_HEAD(sl_route_policy, SL_POLICY_ROUTE), .name = name,
                   .summary = "for tests"},
        .route = route_to_first,
    };
}

static sl_kept keep_all(const void *self) {
    (void)self;
    return (sl_kept){.share_ppm = SL_WHOLE_PPM, .cap_rows = INT64_MAX, .row_tokens = 1};
}

static void describe_all(const void *self, char *text, size_t text_bytes) {
    (void)self;
    snprintf(text, text_bytes, "all");
}

static sl_keep_policy keep_policy(const char *name) {
    return (sl_keep_policy){
        .policy = {SL_POLICY_HEAD(sl_keep_policy, SL_POLICY_KEEP), .name = name,
                   .summary = "for tests"},
        .when = "never",
        .besides = "nothing",
        .rule = keep_all,
        .describe = describe_all,
    };
}

static sl_err init_nothing(void *self, const sl_policy_env *env, char *why, size_t why_bytes) {
    (void)self;
    (void)env;
    (void)why;
    (void)why_bytes;
    return SL_OK;
}

static void fini_nothing(void *self) {
    (void)self;
}

static sl_err add(sli_registry *registry, const sl_policy *const *policies, size_t count,
                  sli_diag *diag) {
    const sl_policy_table table = {.abi = SL_POLICY_ABI, .count = count, .policies = policies};
    return sli_registry_add(registry, &table, "test.so", diag);
}

static void finds_by_kind_and_name(void **state) {
    (void)state;
    sl_batch_policy a = batch_policy("same");
    sl_route_policy b = route_policy("same");
    sl_batch_policy c = batch_policy("other_1");
    const sl_policy *const first[] = {&a.policy, &b.policy};
    const sl_policy *const second[] = {&c.policy};
    sli_registry registry = {0};
    sli_diag diag = {0};
    assert_null(sli_registry_find(&registry, SL_POLICY_BATCH, "same"));
    assert_int_equal(add(&registry, first, 2, &diag), SL_OK);
    assert_int_equal(add(&registry, second, 1, &diag), SL_OK);
    assert_int_equal(add(&registry, NULL, 0, &diag), SL_OK);
    assert_ptr_equal(sli_registry_find(&registry, SL_POLICY_BATCH, "same"), &a);
    assert_ptr_equal(sli_registry_find(&registry, SL_POLICY_ROUTE, "same"), &b);
    assert_ptr_equal(sli_registry_find(&registry, SL_POLICY_BATCH, "other_1"), &c);
    assert_null(sli_registry_find(&registry, SL_POLICY_ROUTE, "other_1"));
    assert_null(sli_registry_find(&registry, SL_POLICY_BATCH, "Same"));
    const sl_policy *const in_order[] = {&a.policy, &b.policy, &c.policy};
    assert_int_equal(registry.count, 3);
    assert_memory_equal(registry.policies, in_order, sizeof in_order);
    assert_int_equal(diag.error_count, 0);
    sli_registry_fini(&registry);
    assert_int_equal(registry.count, 0);
    sli_diag_fini(&diag);
}

/* ---- Refusals ---- */

/* One error, in the name of the file that the table came from, which says `part`. */
static void assert_one_error(const sli_diag *diag, const char *part) {
    assert_int_equal(diag->error_count, 1);
    assert_string_equal(diag->first->mark.file, "test.so");
    if (strstr(diag->first->message, part) == NULL) {
        fail_msg("'%s' is not in '%s'", part, diag->first->message);
    }
}

/* Refused behind a policy that is in order, which must not stay either. */
static void assert_refused(const sl_policy *policy, const char *part) {
    sl_batch_policy taken = batch_policy("taken");
    sl_batch_policy sound = batch_policy("sound");
    const sl_policy *const before[] = {&taken.policy};
    const sl_policy *const policies[] = {&sound.policy, policy};
    sli_registry registry = {0};
    sli_diag diag = {0};
    assert_int_equal(add(&registry, before, 1, &diag), SL_OK);
    assert_int_equal(add(&registry, policies, 2, &diag), SL_ERR_CONFIG);
    assert_one_error(&diag, part);
    assert_int_equal(registry.count, 1);
    assert_null(sli_registry_find(&registry, SL_POLICY_BATCH, "sound"));
    assert_ptr_equal(sli_registry_find(&registry, SL_POLICY_BATCH, "taken"), &taken);
    sli_registry_fini(&registry);
    sli_diag_fini(&diag);
}

static void refuses_another_interface(void **state) {
    (void)state;
    sl_batch_policy policy = batch_policy("mine");
    policy.policy.abi = SL_POLICY_ABI + 1;
    policy.policy.name = (const char *)1; /* must not be read: it may lie elsewhere */
    assert_refused(&policy.policy, "another version");
    assert_refused(NULL, "another version");

    sli_registry registry = {0};
    sli_diag diag = {0};
    const sl_policy_table table = {.abi = SL_POLICY_ABI + 7};
    assert_int_equal(sli_registry_add(&registry, &table, "test.so", &diag), SL_ERR_CONFIG);
    assert_one_error(&diag, "policy interface 8, this program has 1");
    sli_registry_fini(&registry);
    sli_diag_fini(&diag);
}

static void refuses_descriptors_that_are_no_such_kind(void **state) {
    (void)state;
    sl_batch_policy policy = batch_policy("mine");
    policy.policy.struct_size--;
    assert_refused(&policy.policy, "'mine' has a descriptor of the wrong size");
    policy = batch_policy("mine");
    policy.policy.kind = SL_POLICY_KIND_COUNT;
    assert_refused(&policy.policy, "unknown kind");
}

static void refuses_policies_that_decide_nothing(void **state) {
    (void)state;
    sl_batch_policy batch = batch_policy("mine");
    batch.plan = NULL;
    assert_refused(&batch.policy, "decides nothing");
    sl_route_policy route = route_policy("mine");
    route.route = NULL;
    assert_refused(&route.policy, "decides nothing");
    sl_keep_policy keep = keep_policy("mine");
    keep.rule = NULL;
    assert_refused(&keep.policy, "decides nothing");
}

static void refuses_methods_that_cannot_be_told_of_or_want_a_life(void **state) {
    (void)state;
    static const char said[] = "'mine' needs when, besides and describe, and has neither init";
    sl_keep_policy whole = keep_policy("mine");
    sl_keep_policy half[5] = {whole, whole, whole, whole, whole};
    half[0].when = NULL;
    half[1].besides = NULL;
    half[2].describe = NULL;
    half[3].policy.init = init_nothing;
    half[4].policy.fini = fini_nothing;
    for (size_t i = 0; i < sizeof half / sizeof half[0]; i++) {
        assert_refused(&half[i].policy, said);
    }
    const sl_policy *const policies[] = {&whole.policy};
    sli_registry registry = {0};
    sli_diag diag = {0};
    assert_int_equal(add(&registry, policies, 1, &diag), SL_OK);
    sli_registry_fini(&registry);
    sli_diag_fini(&diag);
}

static void refuses_bad_names(void **state) {
    (void)state;
    static const char *const names[] = {NULL, "", "Mine", "2nd", "_x", "my-policy", "my policy"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        sl_batch_policy policy = batch_policy(names[i]);
        assert_refused(&policy.policy, "lower-case name");
    }
    sl_batch_policy silent = batch_policy("mine");
    silent.policy.summary = NULL;
    assert_refused(&silent.policy, "summary");
}

static void refuses_names_that_are_taken(void **state) {
    (void)state;
    sl_batch_policy earlier_table = batch_policy("taken");
    assert_refused(&earlier_table.policy, "'taken' has a name that is taken");
    sl_batch_policy same_table = batch_policy("sound");
    assert_refused(&same_table.policy, "'sound' has a name that is taken");
    sl_keep_policy nothing = keep_policy("none"); /* which scenarios say for no policy */
    assert_refused(&nothing.policy, "'none' has a name that is taken");
}

static void refuses_parameters_without_a_place(void **state) {
    (void)state;
    const sl_param sound = {.name = "p", .help = "h", .offset = 8};
    sl_param param = sound;
    sl_batch_policy policy = batch_policy("mine");
    policy.policy.params = &param;
    policy.policy.param_count = 1;
    policy.policy.instance_bytes = 8; /* the parameter would lie behind the instance */
    assert_refused(&policy.policy, "parameter");
    policy.policy.instance_bytes = 16;
    param.name = NULL;
    assert_refused(&policy.policy, "parameter");
    param = sound;
    param.help = NULL;
    assert_refused(&policy.policy, "parameter");
    param = (sl_param){.name = "p", .help = "h", .type = SL_TYPE_INT, .offset = 9};
    assert_refused(&policy.policy, "parameter"); /* its last byte would lie behind the instance */
    param = (sl_param){.name = "p", .help = "h", .type = (sl_type)99};
    assert_refused(&policy.policy, "parameter");
    param = (sl_param){.name = "p", .help = "h", .type = SL_TYPE_CHOICE};
    assert_refused(&policy.policy, "parameter"); /* nothing to choose from */
    const char *const choices[] = {"one", "other", NULL};
    const sl_word words[] = {{"uno", 0}, {"tre", 2}, {NULL, 0}};
    param.choices = choices;
    param.words = words;
    assert_refused(&policy.policy, "choices"); /* there is no third */

    param = sound;
    const sl_policy *const policies[] = {&policy.policy};
    sli_registry registry = {0};
    sli_diag diag = {0};
    assert_int_equal(add(&registry, policies, 1, &diag), SL_OK);
    sli_registry_fini(&registry);
    sli_diag_fini(&diag);
}

static void kinds_have_the_names_that_scenarios_use(void **state) {
    (void)state;
    assert_string_equal(sli_policy_kind_name(SL_POLICY_BATCH), "batch");
    assert_string_equal(sli_policy_kind_name(SL_POLICY_ROUTE), "route");
    assert_string_equal(sli_policy_kind_name(SL_POLICY_KEEP), "keep");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_by_kind_and_name),
        cmocka_unit_test(refuses_another_interface),
        cmocka_unit_test(refuses_descriptors_that_are_no_such_kind),
        cmocka_unit_test(refuses_policies_that_decide_nothing),
        cmocka_unit_test(refuses_methods_that_cannot_be_told_of_or_want_a_life),
        cmocka_unit_test(refuses_bad_names),
        cmocka_unit_test(refuses_names_that_are_taken),
        cmocka_unit_test(refuses_parameters_without_a_place),
        cmocka_unit_test(kinds_have_the_names_that_scenarios_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
