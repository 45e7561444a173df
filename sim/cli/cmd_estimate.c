/* sluice estimate: what requests cost a model in bytes, without a run. */
#include "cli/command.h"
#include "cli/estimate_print.h"
#include "cli/estimate_query.h"
#include "cli/estimate_sweep.h"
#include "cli/estimators.h"
#include "cli/options.h"

#include <stdio.h>

/* Settings but the model are options of the same name. */
enum {
    OPTION_SETTINGS = SLI_ESTIMATE_SETTINGS - 1,
    OPTION_SWEEP = OPTION_SETTINGS,
    OPTION_PLOT,
    OPTION_FORCE,
    OPTION_JSON,
    OPTION_COUNT
};

static int set_all(sli_estimate_input *input, const sli_option *options, const char *model) {
    int code = model != NULL ? sli_estimate_input_set(input, &sli_estimate_settings[0], model) : 0;
    for (size_t i = 0; i < OPTION_SETTINGS && code == 0; i++) {
        const char *value = sli_option_value(&options[i]);
        if (value != NULL) {
            code = sli_estimate_input_set(input, &sli_estimate_settings[i + 1], value);
        }
    }
    return code;
}

/* Of a setting that is swept no value can be given as well. */
static bool is_given(const sli_option *options, const char *model, const sli_axis *axis) {
    size_t number = (size_t)(axis->setting - sli_estimate_settings);
    bool is_twice = number == 0 ? model != NULL : options[number - 1].count > 0;
    if (is_twice) {
        fprintf(stderr, "sluice estimate: %s is given and swept; leave one of them out\n",
                number == 0 ? "a model" : options[number - 1].name);
    }
    return is_twice;
}

static int sweep(sli_estimate_input *input, const sli_option *options, const char *model) {
    const sli_option *option = &options[OPTION_SWEEP];
    sli_axis axes[SLI_AXES_MAX];
    if (option->count > SLI_AXES_MAX) {
        fprintf(stderr, "sluice estimate: --sweep can be given at most %d times\n", SLI_AXES_MAX);
        return sli_exit_code(SL_ERR_USAGE);
    }
    for (size_t i = 0; i < option->count; i++) {
        if (!sli_axis_read(input, option->values[i], &axes[i]) ||
            is_given(options, model, &axes[i])) {
            return sli_exit_code(SL_ERR_USAGE);
        }
    }
    if (option->count == SLI_AXES_MAX && axes[0].setting == axes[1].setting) {
        fprintf(stderr, "sluice estimate: both axes are %s\n", axes[0].setting->name);
        return sli_exit_code(SL_ERR_USAGE);
    }
    sli_sweep_output output = {
        .as_json = options[OPTION_JSON].count > 0,
        .plot_path = sli_option_value(&options[OPTION_PLOT]),
        .replaces = options[OPTION_FORCE].count > 0,
    };
    return sli_estimate_sweep(input, axes, option->count, &output);
}

static sl_err print_one(const sli_estimate_query *query, const sli_estimate *estimate,
                        bool as_json) {
    if (as_json) {
        sli_json json;
        sli_json_init(&json, stdout);
        sli_estimate_print_json(&json, NULL, query, estimate);
        return sli_json_finish(&json);
    }
    sli_estimate_print(stdout, query, estimate);
    return fflush(stdout) == 0 ? SL_OK : SL_ERR_IO;
}

static int estimate_one(sli_estimate_input *input, bool as_json) {
    if (input->query.architecture == NULL) {
        fputs("sluice estimate: one model is needed; sluice models lists them\n", stderr);
        return sli_exit_code(SL_ERR_USAGE);
    }
    sli_estimate_query query;
    sli_estimate estimate;
    sl_err err = sli_estimate_input_query(input, &input->diag, &query);
    if (err == SL_OK) {
        err = sli_estimate_find(&query, &input->diag, &estimate);
    }
    if (err != SL_OK) {
        return sli_report_failure(err, &input->diag);
    }
    if (print_one(&query, &estimate, as_json) != SL_OK) {
        return sli_exit_code(SL_ERR_IO);
    }
    bool is_met = query.device == NULL || estimate.fit.is_met;
    return sli_exit_code(is_met ? SL_OK : SL_ERR_FIT);
}

static int run(int argc, char **argv) {
    const sli_estimator *estimator = argc > 0 ? sli_estimator_find(argv[0]) : NULL;
    if (estimator != NULL) {
        return estimator->run(argc - 1, argv + 1);
    }
    sli_option options[OPTION_COUNT + 1] = {
        [OPTION_SWEEP] = {.name = "--sweep", .has_value = true, .is_repeatable = true},
        [OPTION_PLOT] = {.name = "--plot", .has_value = true},
        [OPTION_FORCE] = {.name = "--force"},
        [OPTION_JSON] = {.name = "--json"},
    };
    char names[OPTION_SETTINGS][24];
    for (size_t i = 0; i < OPTION_SETTINGS; i++) {
        snprintf(names[i], sizeof names[i], "--%s", sli_estimate_settings[i + 1].name);
        options[i] = (sli_option){.name = names[i], .has_value = true};
    }
    int rest;
    if (!sli_options_read("estimate", argc, argv, options, &rest)) {
        return sli_exit_code(SL_ERR_USAGE);
    }
    if (rest > 1) {
        fputs("sluice estimate: one model is needed; --sweep model=A,B compares some\n", stderr);
        return sli_exit_code(SL_ERR_USAGE);
    }
    if (options[OPTION_PLOT].count > 0 && options[OPTION_SWEEP].count == 0) {
        fputs("sluice estimate: --plot draws a --sweep; give one\n", stderr);
        return sli_exit_code(SL_ERR_USAGE);
    }
    bool as_json = options[OPTION_JSON].count > 0;
    sli_estimate_input input;
    sli_estimate_input_init(&input);
    const char *model = rest == 1 ? argv[0] : NULL;
    int code = set_all(&input, options, model);
    if (code == 0) {
        code = options[OPTION_SWEEP].count > 0 ? sweep(&input, options, model)
                                               : estimate_one(&input, as_json);
    }
    sli_estimate_input_fini(&input);
    return code;
}

const sli_command sli_cmd_estimate = {
    .name = "estimate",
    .summary = "what requests cost a model in bytes and in time to move them, without a run",
    .usage = "estimate MODEL [--tokens N] [--concurrency N] [--hardware NAME] [OPTION]...",
    .run = run,
};
