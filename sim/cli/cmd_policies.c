/* sluice policies: lists the policies, or explains one. */
#include "cli/command.h"
#include "cli/options.h"
#include "cli/policy_text.h"

#include <stdio.h>
#include <string.h>

enum { OPTION_PLUGIN, OPTION_COUNT };

static int say_unknown(const sli_registry *registry, const char *name) {
    enum { POLICIES_MAX = 256 };
    const char *names[POLICIES_MAX];
    size_t count = 0;
    for (; count < registry->count && count < POLICIES_MAX; count++) {
        names[count] = registry->policies[count]->name;
    }
    fprintf(stderr, "sluice policies: there is no policy '%s'", name);
    sli_suggest(name, names, count);
    fputs("\nsluice policies lists them; those of a shared object need --plugin FILE.so\n", stderr);
    return sli_exit_code(SL_ERR_USAGE);
}

static int explain_named(const sli_plugins *plugins, const char *name) {
    bool is_found = false;
    for (int kind = 0; kind < SL_POLICY_KIND_COUNT; kind++) {
        for (size_t i = 0; i < plugins->type_count[kind]; i++) {
            const sli_named_type *type = &plugins->types[kind][i];
            if (type->item != NULL && strcmp(type->name, name) == 0) {
                sli_policy_explain(type);
                is_found = true;
            }
        }
    }
    return is_found ? sli_exit_code(SL_OK) : say_unknown(&plugins->registry, name);
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
        for (int kind = 0; kind < SL_POLICY_KIND_COUNT; kind++) {
            sli_policies_list(&plugins, (sl_policy_kind)kind);
        }
    }
    for (int i = 0; i < rest && code == 0; i++) {
        code = explain_named(&plugins, argv[i]);
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
