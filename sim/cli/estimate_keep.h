/*
 * `--keep` of an estimate: a method that throws tokens out.
 *
 * Floor cli. A text as `snapkv:capacity=2Ki:kernel=7` is read as the keep of a scenario
 * (run/keep.h), and the model of a query is cut by it. Methods are those built in.
 */
#ifndef SLUICE_CLI_ESTIMATE_KEEP_H
#define SLUICE_CLI_ESTIMATE_KEEP_H

#include "run/estimate.h"
#include "run/keep.h"
#include "run/plugins.h"

/* Zeroed is none. */
typedef struct sli_estimate_keep {
    bool is_open; /* plugins are */
    sli_plugins plugins;
    const char *text;  /* as typed, in the arena; NULL = no method */
    const char *words; /* what it leaves */
    sli_named method;
} sli_estimate_keep;

/* Reads a text; all that stays of it lives in the arena. SL_ERR_USAGE when it is no method and
 * settings, SL_ERR_CONFIG when they are wrong, which goes to diag. */
SL_NODISCARD sl_err sli_estimate_keep_set(sli_estimate_keep *keep, sli_arena *arena,
                                          const char *text, sli_diag *diag);

/* The query of the model that is left, in the arena; its texts are set even where the model cannot
 * be cut (SL_ERR_CONFIG). */
SL_NODISCARD sl_err sli_estimate_keep_apply(const sli_estimate_keep *keep, sli_arena *arena,
                                            sli_diag *diag, sli_estimate_query *query);

void sli_estimate_keep_fini(sli_estimate_keep *keep);

/* Prints the methods and their settings, for the page of the verb. */
SL_NODISCARD sl_err sli_estimate_keep_describe(void);

#endif
