/* sluice check: validates a scenario, with its model, device, memory and traces, without running;
 * or a file of measurements. */
#include "calib/measurements.h"
#include "cli/command.h"
#include "cli/options.h"
#include "run/execute.h"

#include <stdio.h>
#include <string.h>

enum { OPTION_SET, OPTION_RESOLVED, OPTION_OUT, OPTION_FORCE, OPTION_JSON, OPTION_COUNT };

static int check_scenario(sli_scenario_file *file, bool prints_resolved, sli_diag *diag) {
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

/* How many kernels there are. Rows of a kernel mostly follow each other, so it is nearly O(rows).
 */
static size_t count_kernels(const sli_measurements *table) {
    size_t count = 0;
    for (size_t i = 0; i < table->count; i++) {
        size_t j = i;
        while (j > 0 && strcmp(table->rows[j - 1].kernel, table->rows[i].kernel) != 0) {
            j--;
        }
        count += j == 0 ? 1 : 0;
    }
    return count;
}

static int check_measurements(const char *path) {
    sli_arena arena = {0};
    sli_diag diag = {0};
    sli_measurements table;
    sl_err err = sli_measurements_read(&arena, path, &diag, &table);
    int code = sli_exit_code(err);
    if (err == SL_OK) {
        sli_diag_print(&diag, stderr);
        size_t kernels = count_kernels(&table);
        printf("ok: %zu measurement%s of %zu kernel%s\n", table.count, table.count == 1 ? "" : "s",
               kernels, kernels == 1 ? "" : "s");
    } else {
        code = sli_report_failure(err, &diag);
    }
    sli_diag_fini(&diag);
    sli_arena_fini(&arena);
    return code;
}

/* Measurements have no settings and no defaults. */
static bool have_no_settings(const sli_option *options) {
    for (const sli_option *option = options; option->name != NULL; option++) {
        if (option->count > 0) {
            fprintf(stderr, "sluice check: %s is for scenarios; measurements have none\n",
                    option->name);
            return false;
        }
    }
    return true;
}

static int check_scenario_file(const char *path, const sli_option *options) {
    sli_diag diag = {0};
    sli_scenario_file file;
    sl_err err = sli_scenario_read(path, options[OPTION_SET].values, options[OPTION_SET].count,
                                   &diag, &file);
    int code = err == SL_OK ? check_scenario(&file, options[OPTION_RESOLVED].count > 0, &diag)
                            : sli_report_failure(err, &diag);
    sli_scenario_close(&file);
    sli_diag_fini(&diag);
    return code;
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
    if (sli_is_measurements(argv[0])) {
        return have_no_settings(options) ? check_measurements(argv[0])
                                         : sli_exit_code(SL_ERR_USAGE);
    }
    return check_scenario_file(argv[0], options);
}

const sli_command sli_cmd_check = {
    .name = "check",
    .summary = "validate a scenario without running it, or a file of measurements",
    .usage = "check SCENARIO.yaml|MEASUREMENTS [--set a.b=c]... [--resolved]",
    .run = run,
};
