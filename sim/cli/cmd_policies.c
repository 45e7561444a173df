/* sluice policies: lists the policies, or explains one. */
#include "cli/command.h"
#include "cli/keep_text.h"
#include "cli/options.h"
#include "run/plugins.h"

#include <stdio.h>
#include <string.h>

enum { OPTION_PLUGIN, OPTION_COUNT };

/* ---- Kind keep: methods that are data, not code that decides ---- */

static bool explain_keep_named(const char *name) {
    size_t count;
    const sli_named_type *types = sli_keep_types(NULL, &count);
    for (size_t i = 0; i < count; i++) {
        if (types[i].item != NULL && strcmp(types[i].name, name) == 0) {
            sli_keep_explain(types[i].item);
            return true;
        }
    }
    return false;
}

/* ---- Policies ---- */

static void list_all(const sli_registry *registry) {
    for (int kind = 0; kind < SL_POLICY_KIND_COUNT; kind++) {
        printf("%s\n", sli_policy_kind_name((sl_policy_kind)kind));
        for (size_t i = 0; i < registry->count; i++) {
            const sl_policy *policy = registry->policies[i];
            if (policy->kind == (sl_policy_kind)kind) {
                printf("  %-18s %s\n", policy->name, policy->summary);
            }
        }
    }
    sli_keep_list();
}

static void explain(const sl_policy *policy) {
    printf("%s (%s): %s\n", policy->name, sli_policy_kind_name(policy->kind), policy->summary);
    if (policy->paper != NULL) {
        printf("source: %s\n", policy->paper);
    }
    if ((policy->capabilities & SL_CAP_NO_TOKEN_BUDGET) != 0) {
        puts("is not bound by engine.max_batched_tokens");
    }
    if ((policy->capabilities & SL_CAP_RESERVES_MAX_LEN) != 0) {
        puts("reserves blocks for the longest context; needs prefix.index: none");
    }
    if (policy->param_count > 0) {
        puts("\nkeys:");
        sli_section section = {.params = policy->params, .param_count = policy->param_count};
        sli_schema_describe(&section, NULL, stdout);
    }
}

static int say_unknown(const sli_registry *registry, const char *name) {
    enum { POLICIES_MAX = 256 };
    const char *names[POLICIES_MAX];
    size_t count = 0;
    for (; count < registry->count && count < POLICIES_MAX; count++) {
        names[count] = registry->policies[count]->name;
    }
    size_t keep_count;
    const sli_named_type *types = sli_keep_types(NULL, &keep_count);
    for (size_t i = 0; i < keep_count && count < POLICIES_MAX; i++) {
        names[count++] = types[i].name;
    }
    fprintf(stderr, "sluice policies: there is no policy '%s'", name);
    sli_suggest(name, names, count);
    fputs("\nsluice policies lists them; those of a shared object need --plugin FILE.so\n", stderr);
    return sli_exit_code(SL_ERR_USAGE);
}

static int explain_named(const sli_registry *registry, const char *name) {
    bool is_found = explain_keep_named(name);
    for (size_t i = 0; i < registry->count; i++) {
        if (strcmp(registry->policies[i]->name, name) == 0) {
            explain(registry->policies[i]);
            is_found = true;
        }
    }
    return is_found ? sli_exit_code(SL_OK) : say_unknown(registry, name);
}

static int run(int argc, char **argv) {
    sli_option options[OPTION_COUNT + 1] = {
        [OPTION_PLUGIN] = {.name = "--plugin", .has_value = true}};
    int rest;
    if (!sli_options_read("policies", argc, argv, options, &rest)) {
        return sli_exit_code(SL_ERR_USAGE);
    }
    sli_arena arena = {0};
    sli_diag diag = {0};
    sli_plugins plugins;
    int code = 0;
    sl_err err = sli_plugins_open(&arena, sli_option_value(&options[OPTION_PLUGIN]), (sli_mark){0},
                                  &diag, &plugins);
    if (err != SL_OK) {
        code = sli_report_failure(err, &diag);
    } else if (rest == 0) {
        list_all(&plugins.registry);
    }
    for (int i = 0; i < rest && code == 0; i++) {
        code = explain_named(&plugins.registry, argv[i]);
    }
    sli_plugins_close(&plugins);
    sli_diag_fini(&diag);
    sli_arena_fini(&arena);
    return code;
}

const sli_command sli_cmd_policies = {
    .name = "policies",
    .summary = "list the policies, or explain one",
    .usage = "policies [NAME] [--plugin FILE.so]",
    .run = run,
};
