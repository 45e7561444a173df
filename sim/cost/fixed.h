/*
 * Fixed costs: a step time that no architecture or device enters. For theory and tests.
 *
 * Floor cost. time = step + token * tokens + sequence * sequences + table(tokens), all in whole
 * nanoseconds; a table entry is read by linear interpolation in the tokens of the step, constant
 * below the first row and continued with the last slope above the last. Exact: one rounding, to
 * nearest with ties to even; at least 1 ns. All of it counts as engine time.
 */
#ifndef SLUICE_COST_FIXED_H
#define SLUICE_COST_FIXED_H

#include "config/schema.h"
#include "sluice/cost.h"

#include <stdint.h>

/* A row of the table. Tokens must increase from row to row. */
typedef struct sli_fixed_row {
    int64_t tokens;
    int64_t time_ns;
} sli_fixed_row;

typedef struct sli_fixed_config {
    int64_t step_ns;
    int64_t token_ns;
    int64_t sequence_ns;
    sli_table table; /* of sli_fixed_row; may be empty */
} sli_fixed_config;

extern const sli_section sli_fixed_section;

/* What a schema cannot say: that the tokens of the rows increase (SL_ERR_CONFIG otherwise). */
SL_NODISCARD sl_err sli_fixed_check(const sli_fixed_config *config, sli_mark mark, const char *key,
                                    sli_diag *diag);

/* A model on a configuration that passed the check and outlives it. O(1); with a table O(log n). */
sl_cost_model sli_fixed_model(const sli_fixed_config *config);

#endif
