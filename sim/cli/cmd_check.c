/* sluice check: validates a scenario, with its model, device, memory and traces, without running.
 */
#include "cli/command.h"
#include "cli/options.h"
#include "run/execute.h"

#include <stdio.h>

enum { OPTION_SET, OPTION_RESOLVED, OPTION_OUT, OPTION_FORCE, OPTION_JSON, OPTION_COUNT };

static int check(sli_scenario_file *file, bool prints_resolved, sli_diag *diag) {
    sl_err err = sli_execution_check(file, diag);
    if (err != SL_OK) {
        return sli_report_failure(err, diag);
    }
    sli_diag_print(diag, stderr);
    if (prints_resolved) {
        err = sli_tree_write(file->root, stdout);
    } else {
        puts("ok");
    }
    return sli_exit_code(err);
}

static int run(int argc, char **argv) {
    sli_option options[OPTION_COUNT + 1] = {
        [OPTION_SET] = {.name = "--set", .has_value = true, .is_repeatable = true},
        [OPTION_RESOLVED] = {.name = "--resolved"},
        [OPTION_OUT] = {.name = "--out", .refusal = "check writes nothing"},
        [OPTION_FORCE] = {.name = "--force", .refusal = "check writes nothing"},
        [OPTION_JSON] = {.name = "--json", .refusal = "check prints ok, or what is wrong"},
    };
    int rest;
    if (!sli_options_read("check", argc, argv, options, &rest) ||
        !sli_options_have_scenario("check", rest, argv) ||
        !sli_options_are_settings("check", &options[OPTION_SET])) {
        return sli_exit_code(SL_ERR_USAGE);
    }
    sli_diag diag = {0};
    sli_scenario_file file;
    sl_err err = sli_scenario_read(argv[0], options[OPTION_SET].values, options[OPTION_SET].count,
                                   &diag, &file);
    int code = err == SL_OK ? check(&file, options[OPTION_RESOLVED].count > 0, &diag)
                            : sli_report_failure(err, &diag);
    sli_scenario_close(&file);
    sli_diag_fini(&diag);
    return code;
}

const sli_command sli_cmd_check = {
    .name = "check",
    .summary = "validate a scenario without running it",
    .usage = "check SCENARIO.yaml [--set a.b=c]... [--resolved]",
    .run = run,
};
