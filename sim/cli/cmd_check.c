/* sluice check: validates a scenario, with its model, device, memory and traces, without running.
 */
#include "cli/command.h"
#include "cli/options.h"
#include "run/execute.h"

#include <stdio.h>

enum { OPTION_SET, OPTION_RESOLVED, OPTION_COUNT };

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
    return sli_exit_code(fflush(stdout) == 0 ? err : SL_ERR_IO);
}

static int run(int argc, char **argv) {
    sli_option options[OPTION_COUNT + 1] = {
        [OPTION_SET] = {.name = "--set", .has_value = true, .is_repeatable = true},
        [OPTION_RESOLVED] = {.name = "--resolved"},
    };
    int rest;
    if (!sli_options_read("check", argc, argv, options, &rest)) {
        return sli_exit_code(SL_ERR_USAGE);
    }
    if (rest != 1) {
        fputs("sluice check: one scenario file is needed\n", stderr);
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
