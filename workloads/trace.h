/*
 * A trace in memory: rows of arrivals, and what is done to them before they are replayed.
 *
 * Part workloads. A reader of one format fills the table in file order; sli_trace_prepare then
 * applies the common options. Rows keep the number of their line, so that every later complaint
 * can name it. The table owns its memory and is freed by sli_trace_fini.
 */
#ifndef WORKLOADS_TRACE_H
#define WORKLOADS_TRACE_H

#include "workloads/lines.h"
#include "workloads/source.h"

typedef struct sli_trace_row {
    int64_t at_ns;
    int64_t prompt_tokens;
    int64_t output_tokens;
    int64_t max_tokens; /* 0 = none */
    int64_t block_tokens;
    size_t first_id; /* in the pool of ids */
    size_t id_count;
    int32_t priority;
    int line;
    size_t order; /* scratch: the place before sorting, which makes the sort stable */
} sli_trace_row;

/* What was found odd, and what was changed. */
typedef struct sli_trace_notes {
    int64_t unsorted_count;      /* rows earlier than the row before them */
    int64_t zero_output_count;   /* rows without output */
    int64_t hash_mismatch_count; /* rows whose ids fit neither the prompt nor other rows */
} sli_trace_notes;

typedef struct sli_trace {
    sli_trace_row *rows;
    size_t count;
    size_t capacity;
    uint64_t *ids;
    size_t id_count;
    size_t id_capacity;
    bool may_lack_ids; /* a private tail of the prompt without ids is no mismatch */
    sli_trace_notes notes;
} sli_trace;

/* Reads all lines; complaints about them go to lines->errors and do not fail the call. */
typedef sl_err sli_trace_read_fn(sli_lines *lines, int64_t block_tokens, sli_trace *trace);

typedef struct sli_trace_format sli_trace_format; /* workloads/trace_format.h */

typedef enum sli_unsorted { SLI_UNSORTED_SORT, SLI_UNSORTED_ERROR } sli_unsorted;
typedef enum sli_zero_output {
    SLI_ZERO_OUTPUT_ERROR,
    SLI_ZERO_OUTPUT_DROP,
    SLI_ZERO_OUTPUT_FLOOR, /* to 1 token */
} sli_zero_output;
typedef enum sli_hash_mismatch {
    SLI_HASH_MISMATCH_ERROR,
    SLI_HASH_MISMATCH_DROP_IDS,
} sli_hash_mismatch;

/* The keys of all trace sources. */
typedef struct sli_trace_options {
    const char *file;
    double rate_scale;
    struct {
        int64_t from_ns;
        int64_t to_ns; /* -1 = the end */
    } window;
    int64_t limit; /* 0 = none */
    int64_t spread_ns;
    int64_t output_tokens; /* in place of those in the file; 0 = as in the file */
    int unsorted;
    int zero_output;
    int hash_mismatch;    /* formats with ids */
    int64_t block_tokens; /* Mooncake */
} sli_trace_options;

/*
 * The tables of the keys. One table of parameters serves all formats: each takes the leading part
 * that applies to it.
 */
enum {
    SLI_TRACE_PARAM_COUNT = 7,
    SLI_TRACE_ID_PARAM_COUNT = 8,
    SLI_TRACE_BLOCK_PARAM_COUNT = 9,
    SLI_TRACE_FIELD_COUNT = 1,
};
extern const sl_param sli_trace_params[SLI_TRACE_BLOCK_PARAM_COUNT];
extern const sli_field sli_trace_fields[SLI_TRACE_FIELD_COUNT];

/* Appends a row and its ids (copied); row->first_id and id_count are filled here. */
SL_NODISCARD sl_err sli_trace_add(sli_trace *trace, const sli_trace_row *row, const uint64_t *ids,
                                  size_t id_count);

void sli_trace_fini(sli_trace *trace);

/* Whether the ids of a row fit its prompt: one a block, the last block partly filled or not. */
bool sli_trace_fits_ids(const sli_trace *trace, const sli_trace_row *row);

/*
 * Applies the options, in this order: output_tokens; unsorted rows are sorted stably or complained
 * about; rows without output; ids that do not fit the prompt or that follow another id than before
 * (workloads/lineage.h); the window [from, to), whose beginning becomes time 0; the limit; the
 * spread, an offset uniform in [0, spread) drawn by row, and a stable sort; rate_scale, which
 * divides times. Complaints go to `errors` (then SL_ERR_CONFIG). O(n log n) in rows, O(n) in ids.
 */
SL_NODISCARD sl_err sli_trace_prepare(sli_trace *trace, const sli_trace_options *options,
                                      uint64_t seed, uint32_t number, sli_line_errors *errors);

/*
 * Reads, prepares and replays; what create of every trace source does. A file in another format is
 * one mistake.
 */
SL_NODISCARD sl_err sli_trace_source_create(const sli_trace_options *options,
                                            const sli_source_env *env,
                                            const sli_trace_format *format, sl_source *source);

/* "FORMAT trace FILE" and how its rate was scaled. */
void sli_trace_describe(const sli_trace_options *options, const char *format, char *text,
                        size_t size);

#endif
