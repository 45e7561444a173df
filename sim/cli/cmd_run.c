/* sluice run: simulates a scenario and prints what came out. */
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "out/json_run.h"
#include "out/text.h"
#include "run/execute.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OPTION_SET, OPTION_OUT, OPTION_FORCE, OPTION_JSON, OPTION_COUNT };

/* --out DIR is --set output.dir=DIR, so that the saved scenario says the same. */
static size_t gather_sets(const sli_option *options, char *out_set, size_t out_set_size,
                          const char *sets[SLI_OPTION_VALUES_MAX + 1]) {
    size_t count = 0;
    for (; count < options[OPTION_SET].count; count++) {
        sets[count] = options[OPTION_SET].values[count];
    }
    const char *out = sli_option_value(&options[OPTION_OUT]);
    if (out != NULL) {
        snprintf(out_set, out_set_size, "output.dir=%s", out);
        sets[count++] = out_set;
    }
    return count;
}

static sl_err print_results(const sli_execution *execution, bool as_json) {
    sl_err err = as_json ? sli_json_run_write(stdout, &execution->facts, &execution->metrics)
                         : sli_text_write(stdout, &execution->facts, &execution->metrics);
    return fflush(stdout) == 0 ? err : SL_ERR_IO;
}

static int finish(const sli_execution *execution, sl_err err, bool as_json, const sli_diag *diag) {
    if (!execution->has_results) {
        return sli_report_failure(err, diag);
    }
    if (print_results(execution, as_json) != SL_OK) {
        fputs("sluice run: the results could not be printed\n", stderr);
        return sli_exit_code(SL_ERR_IO);
    }
    if (err == SL_ERR_LIVENESS) {
        fprintf(stderr, "sluice run: %s\n", execution->result.text);
    }
    return sli_exit_code(err);
}

static int simulate(sli_scenario_file *file, const sli_option *options, sli_diag *diag) {
    sli_progress progress;
    sl_probe watcher = sli_progress_probe(&progress);
    sli_execution execution = {
        .file = file,
        .replaces = options[OPTION_FORCE].count > 0,
        .watcher = isatty(STDERR_FILENO) ? &watcher : NULL,
        .interrupt = sli_interrupt_listen(),
    };
    sl_err err = sli_execution_run(&execution, diag);
    sli_progress_end(&progress);
    execution.facts.wall_s = sli_wall_s() - progress.start_s;
    int code = finish(&execution, err, options[OPTION_JSON].count > 0, diag);
    sli_execution_fini(&execution);
    return code;
}

static int run(int argc, char **argv) {
    sli_option options[OPTION_COUNT + 1] = {
        [OPTION_SET] = {.name = "--set", .has_value = true, .is_repeatable = true},
        [OPTION_OUT] = {.name = "--out", .has_value = true},
        [OPTION_FORCE] = {.name = "--force"},
        [OPTION_JSON] = {.name = "--json"},
    };
    int rest;
    if (!sli_options_read("run", argc, argv, options, &rest)) {
        return sli_exit_code(SL_ERR_USAGE);
    }
    if (rest != 1) {
        fputs("sluice run: one scenario file is needed\n", stderr);
        return sli_exit_code(SL_ERR_USAGE);
    }
    char out_set[4096];
    const char *sets[SLI_OPTION_VALUES_MAX + 1];
    size_t set_count = gather_sets(options, out_set, sizeof out_set, sets);
    sli_diag diag = {0};
    sli_scenario_file file;
    sl_err err = sli_scenario_read(argv[0], sets, set_count, &diag, &file);
    int code = err == SL_OK ? simulate(&file, options, &diag) : sli_report_failure(err, &diag);
    sli_scenario_close(&file);
    sli_diag_fini(&diag);
    return code;
}

const sli_command sli_cmd_run = {
    .name = "run",
    .summary = "simulate a scenario",
    .usage = "run SCENARIO.yaml [--set a.b=c]... [--out DIR] [--force] [--json]",
    .run = run,
};
