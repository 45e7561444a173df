/* sluice run: simulates a scenario and prints what came out. */
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "out/json_run.h"
#include "out/text.h"
#include "run/execute.h"

#include <stdio.h>
#include <unistd.h>

enum { OPTION_SET, OPTION_OUT, OPTION_FORCE, OPTION_JSON, OPTION_COUNT };

enum { OUT_SET_BYTES = 4096 + sizeof "output.dir=" }; /* no path of Linux is longer */

/* --out DIR is --set output.dir=DIR, so that the saved scenario says the same. False after a
 * message. */
static bool gather_sets(const sli_option *options, char out_set[OUT_SET_BYTES],
                        const char *sets[SLI_OPTION_VALUES_MAX + 1], size_t *set_count) {
    size_t count = 0;
    for (; count < options[OPTION_SET].count; count++) {
        sets[count] = options[OPTION_SET].values[count];
    }
    const char *out = sli_option_value(&options[OPTION_OUT]);
    if (out != NULL) {
        if (snprintf(out_set, OUT_SET_BYTES, "output.dir=%s", out) >= OUT_SET_BYTES) {
            fputs("sluice run: --out is longer than a path can be\n", stderr);
            return false;
        }
        sets[count++] = out_set;
    }
    *set_count = count;
    return true;
}

static int finish(const sli_execution *execution, sl_err err, bool as_json, const sli_diag *diag) {
    if (!execution->has_results) {
        return sli_report_failure(err, diag);
    }
    sl_err print_err = as_json ? sli_json_run_write(stdout, &execution->facts, &execution->metrics)
                               : sli_text_write(stdout, &execution->facts, &execution->metrics);
    if (print_err != SL_OK) {
        return sli_exit_code(print_err);
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
    if (!sli_options_read("run", argc, argv, options, &rest) ||
        !sli_options_have_scenario("run", rest, argv) ||
        !sli_options_are_settings("run", &options[OPTION_SET])) {
        return sli_exit_code(SL_ERR_USAGE);
    }
    char out_set[OUT_SET_BYTES];
    const char *sets[SLI_OPTION_VALUES_MAX + 1];
    size_t set_count = 0;
    if (!gather_sets(options, out_set, sets, &set_count)) {
        return sli_exit_code(SL_ERR_USAGE);
    }
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
