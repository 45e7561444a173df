#include "cli/command.h"

#include <stdio.h>
#include <string.h>

const sli_command *const sli_commands[] = {
    &sli_cmd_run,      &sli_cmd_check,    &sli_cmd_estimate,
    &sli_cmd_models,   &sli_cmd_hardware, &sli_cmd_trace,
    &sli_cmd_policies, &sli_cmd_help,     NULL,
};

const sli_command *sli_command_find(const char *name) {
    for (size_t i = 0; sli_commands[i] != NULL; i++) {
        if (strcmp(sli_commands[i]->name, name) == 0) {
            return sli_commands[i];
        }
    }
    return NULL;
}

void sli_suggest(const char *word, const char *const *names, size_t count) {
    const char *nearest = sli_nearest(word, names, count);
    if (nearest != NULL) {
        fprintf(stderr, "; did you mean '%s'?", nearest);
    }
}

int sli_command_unknown(const char *name) {
    const char *names[sizeof sli_commands / sizeof sli_commands[0]];
    size_t count = 0;
    while (sli_commands[count] != NULL) {
        names[count] = sli_commands[count]->name;
        count++;
    }
    fprintf(stderr, "sluice: '%s' is not a verb", name);
    sli_suggest(name, names, count);
    fputs("\nsluice help lists them\n", stderr);
    return sli_exit_code(SL_ERR_USAGE);
}

int sli_exit_code(sl_err err) {
    switch (err) {
    case SL_ERR_NOMEM:
        return SL_ERR_IO;
    case SL_ERR_POLICY:
        return SL_ERR_BUG;
    default:
        return (int)err;
    }
}

int sli_report_failure(sl_err err, const sli_diag *diag) {
    sli_diag_print(diag, stderr);
    if (diag->error_count == 0) {
        fprintf(stderr, "sluice: %s\n", sl_err_text(err));
    } else if (diag->error_count > 1) {
        fprintf(stderr, "sluice: %d errors\n", diag->error_count);
    }
    return sli_exit_code(err);
}
