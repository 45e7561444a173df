/*
 * A measurement: how long one kernel took at one shape, on which device, and how we know.
 *
 * Floor calib. The table of columns says everything about the files once: it reads, writes, checks
 * and explains them (`sluice help measurements`). A row stands for itself, so files can be joined.
 * Must not know the simulator, nor which kernels there are.
 *
 * Empty is not zero: an empty text is "", an empty whole number SLI_NOT_MEASURED, an empty real
 * NaN. Texts are borrowed, and never NULL.
 */
#ifndef SLUICE_CALIB_MEASUREMENT_H
#define SLUICE_CALIB_MEASUREMENT_H

#include "base/diag.h"
#include "sluice/err.h"

#include <stdbool.h>
#include <stdint.h>

#define SLI_NOT_MEASURED INT64_C(-1)

enum { SLI_MEASUREMENT_FORMAT = 1 };

/* The meaning and the unit of each member stand in its column. */
typedef struct sli_measurement {
    int64_t format_version;
    /* who, where, when */
    const char *kernel;
    const char *backend;
    const char *device;
    const char *driver;
    const char *toolkit;
    const char *date;
    double clock_hz;
    const char *cache;
    const char *launch;
    /* shape */
    const char *variant;
    const char *element;
    int64_t sequences;
    int64_t query_tokens;
    int64_t tokens;
    int64_t window_tokens;
    int64_t query_heads;
    int64_t kv_heads;
    int64_t head_dim;
    int64_t value_dim;
    int64_t rope_dim;
    int64_t block_tokens;
    int64_t splits;
    int64_t rows;
    int64_t width;
    int64_t depth;
    int64_t experts;
    int64_t chosen;
    int64_t pieces;
    int64_t piece_bytes;
    int64_t queue_depth;
    int64_t ranks;
    int64_t threads;
    /* work and time */
    int64_t algorithmic_flops;
    int64_t algorithmic_bytes;
    int64_t samples;
    double time_min_ns;
    double time_median_ns;
    double time_p90_ns;
    double peak_flops_per_s;
    double peak_bytes_per_s;
    double flops_frac;
    double bytes_frac;
} sli_measurement;

/* Where everything is empty. */
extern const sli_measurement sli_no_measurement;

typedef enum sli_measured_type {
    SLI_MEASURED_TEXT,
    SLI_MEASURED_WORD, /* a text of small letters, digits and _ */
    SLI_MEASURED_DATE, /* a text as 2026-11-30T08:00:00Z */
    SLI_MEASURED_WHOLE,
    SLI_MEASURED_REAL,
} sli_measured_type;

typedef enum sli_measured_role {
    SLI_MEASURED_CIRCUMSTANCE,
    SLI_MEASURED_SHAPE, /* which of these a kernel fills is its own choice; may be left out */
    SLI_MEASURED_RESULT,
} sli_measured_role;

typedef struct sli_measured_column {
    const char *name; /* ends in its unit */
    const char *unit; /* "" = none */
    const char *help;
    sli_measured_type type;
    sli_measured_role role;
    bool can_be_empty;
    double least;               /* of numbers */
    const char *const *choices; /* of words, NULL at the end; or NULL */
    size_t offset;              /* in sli_measurement */
} sli_measured_column;

enum { SLI_MEASURED_COLUMN_COUNT = 43 };

/* Of the 90th percentile to the median; what is above is called noisy. A convention. */
#define SLI_NOISY_RATIO 1.5

extern const sli_measured_column sli_measured_columns[SLI_MEASURED_COLUMN_COUNT];

/* The column of that name, or NULL. */
const sli_measured_column *sli_measured_column_find(const char *name);

/* The names of all columns, for sli_nearest_spelling. */
void sli_measured_column_names(const char *names[SLI_MEASURED_COLUMN_COUNT]);

bool sli_measured_is_text(const sli_measured_column *column);
bool sli_measured_is_empty(const sli_measured_column *column, const sli_measurement *row);

/*
 * Whether the samples of a row lie too far apart for their median to be believed: every tenth took
 * more than SLI_NOISY_RATIO times the median. The machine had other work, or its clock changed.
 */
bool sli_measured_is_noisy(const sli_measurement *row);

/* The member of a column; its type has to be right. */
const char *sli_measured_text(const sli_measured_column *column, const sli_measurement *row);
int64_t sli_measured_whole(const sli_measured_column *column, const sli_measurement *row);
double sli_measured_real(const sli_measured_column *column, const sli_measurement *row);
void sli_measured_set_text(const sli_measured_column *column, sli_measurement *row,
                           const char *value);
void sli_measured_set_whole(const sli_measured_column *column, sli_measurement *row, int64_t value);
void sli_measured_set_real(const sli_measured_column *column, sli_measurement *row, double value);

#endif
