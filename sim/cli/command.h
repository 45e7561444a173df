/*
 * A verb of the program: one file that ends in one constant of this type.
 *
 * Floor cli, the only one that prints, reads the clock and decides exit codes. stdout carries
 * results, stderr everything else.
 */
#ifndef SLUICE_CLI_COMMAND_H
#define SLUICE_CLI_COMMAND_H

#include "base/diag.h"
#include "base/embedded.h"
#include "sluice/err.h"

typedef struct sli_command {
    const char *name;
    const char *summary; /* one sentence for `sluice help` */
    const char *usage;   /* what follows `sluice` */
    /* Arguments without program and verb; returns the exit code. main looks whether the standard
     * output took all of it. */
    int (*run)(int argc, char **argv);
} sli_command;

extern const sli_command sli_cmd_run;
extern const sli_command sli_cmd_check;
extern const sli_command sli_cmd_estimate;
extern const sli_command sli_cmd_models;
extern const sli_command sli_cmd_hardware;
extern const sli_command sli_cmd_trace;
extern const sli_command sli_cmd_policies;
extern const sli_command sli_cmd_help;

/* All verbs, NULL at the end. */
extern const sli_command *const sli_commands[];

/* NULL when there is none. */
const sli_command *sli_command_find(const char *name);

/* Says on stderr that a word is not a verb, with the nearest one; returns exit code 2. */
int sli_command_unknown(const char *name);

/* Prints "; did you mean 'NEAREST'?" on stderr when one of the names is near. */
void sli_suggest(const char *word, const char *const *names, size_t count);

/* Prints what was wrong and answers the exit code of a failure. */
int sli_report_failure(sl_err err, const sli_diag *diag);

/* The exit code of an error. */
int sli_exit_code(sl_err err);

/* The pages of the verbs (pages/VERB.md). */
extern const sli_embedded sli_pages[];

#endif
