/*
 * What a user may ask of `sluice estimate`: settings by name, as options and as axes of a sweep.
 *
 * Floor cli. A setting reads a text into the query. The models and devices that are read live in
 * the arena of the input.
 */
#ifndef SLUICE_CLI_ESTIMATE_QUERY_H
#define SLUICE_CLI_ESTIMATE_QUERY_H

#include "cli/estimate_keep.h"
#include "run/estimate.h"

#include <stdio.h>

typedef struct sli_estimate_input {
    sli_arena arena;
    sli_diag diag;
    sli_estimate_query query; /* of the whole model */
    sli_estimate_keep keep;
} sli_estimate_input;

typedef struct sli_estimate_setting {
    const char *name; /* the option is the same behind `--` */
    const char *need; /* what it has to be, as "a number of tokens, as 32768 or 32Ki" */
    const char *(*choice)(size_t index); /* of its names, NULL behind the last; NULL = not a name */
    /* SL_ERR_USAGE when the text is something else; SL_ERR_CONFIG when diag says more. */
    sl_err (*set)(sli_estimate_input *input, const char *text);
    /* The setting of a query as a short text, in the arena; NULL when there is nothing to say, or
     * memory is out. */
    const char *(*say)(sli_arena *arena, const sli_estimate_query *query);
} sli_estimate_setting;

enum { SLI_ESTIMATE_SETTINGS = 24 };

/* `model` is the first; the command line has it without an option. */
extern const sli_estimate_setting sli_estimate_settings[SLI_ESTIMATE_SETTINGS];

/* The setting of a name of so many bytes, or NULL. */
const sli_estimate_setting *sli_estimate_setting_find(const char *name, size_t length);

/* The words for sli_window_pages, sli_state_saves and sli_latent_way; a way as the model has it is
 * NULL. */
const char *sli_estimate_window_word(sli_window_pages window_pages);
const char *sli_estimate_states_word(sli_state_saves state_saves);
const char *sli_estimate_way_word(sli_latent_way way);

/* `tp 8 × pp 2 × dp 2, ep 16`: tp, and the others that are more than one. */
typedef struct sli_placement_text {
    char text[96];
} sli_placement_text;

sli_placement_text sli_estimate_say_placement(const sli_placement *placement);

/* sli_estimate_defaults, without a device. */
void sli_estimate_input_init(sli_estimate_input *input);
void sli_estimate_input_fini(sli_estimate_input *input);

/* What is asked of the model that the method leaves. SL_ERR_CONFIG when it cannot cut this one,
 * which goes to diag; the query stands in any case. */
SL_NODISCARD sl_err sli_estimate_input_query(sli_estimate_input *input, sli_diag *diag,
                                             sli_estimate_query *query);

/* Sets, and says on stderr what was wrong; answers the exit code. */
int sli_estimate_input_set(sli_estimate_input *input, const sli_estimate_setting *setting,
                           const char *text);

/* Prints the formats of cache and weights, the methods that throw tokens out and the kernels of
 * attention, for the page of the verb. */
SL_NODISCARD sl_err sli_estimate_describe_choices(void);

#endif
