/*
 * Options of a verb: a table, and the walk over the arguments.
 *
 * Floor cli. Options may stand anywhere; `--` ends them. `--name=value` and `--name value` are the
 * same; no value is empty. Every mistake is said on stderr, with the nearest option.
 */
#ifndef SLUICE_CLI_OPTIONS_H
#define SLUICE_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum { SLI_OPTION_VALUES_MAX = 64 };

typedef struct sli_option {
    const char *name; /* as "--set"; NULL ends a table */
    bool has_value;
    bool is_repeatable;
    const char *refusal; /* why the verb lacks an option of others; NULL = it is one of its own */
    /* filled by the walk */
    size_t count; /* how often it was given */
    const char *values[SLI_OPTION_VALUES_MAX];
} sli_option;

/*
 * Fills the table and moves the other arguments to argv[0 .. *rest). False after a message, which
 * begins with the verb.
 */
bool sli_options_read(const char *verb, int argc, char **argv, sli_option *options, int *rest);

/* Whether all values are KEY=VALUE; false after a message. */
bool sli_options_are_settings(const char *verb, const sli_option *option);

/* Whether the other arguments are the name of one scenario file; false after a message. */
bool sli_options_have_scenario(const char *verb, int rest, char *const *argv);

/* The first value of an option, or NULL if it was not given. */
const char *sli_option_value(const sli_option *option);

#endif
