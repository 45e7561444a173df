/*
 * What requests look like when they are drawn and not read: the keys that all synthetic sources
 * share, and the draw itself.
 *
 * Part workloads. Every draw comes from a stream keyed by (seed, purpose, source, index), so a
 * request looks the same whatever arrives before it, and changing one key (say, the lengths of
 * outputs) leaves all other draws as they were.
 */
#ifndef WORKLOADS_DRAWN_H
#define WORKLOADS_DRAWN_H

#include "kernel/dist.h"
#include "workloads/source.h"

/* `prompt:` and `output:`: one of several distributions of lengths. */
typedef struct sli_length_spec {
    int kind; /* sli_length_kind */
    int64_t fixed_tokens;
    const char *preset;
    struct {
        int64_t min_tokens;
        int64_t max_tokens;
    } uniform;
    struct {
        double mean_tokens;
    } exponential;
    struct {
        double mean_tokens;
        double cv;
    } lognormal;
    sli_table quantiles; /* of sli_quantile */
} sli_length_spec;

/* The shared keys. The first member of the values of every synthetic source. */
typedef struct sli_drawn_spec {
    sli_length_spec prompt;
    sli_length_spec output;
    int64_t max_tokens; /* 0 = none */
    struct {
        int64_t count;
        int64_t length_tokens;
        double zipf;
    } system_prompts;
    sli_table priorities; /* of sli_priority_share */
} sli_drawn_spec;

typedef struct sli_priority_share {
    double share_frac;
    int64_t priority;
} sli_priority_share;

/* The fields of the shared keys, for the section of a source; offsets into sli_drawn_spec. */
enum { SLI_DRAWN_FIELD_COUNT = 4 };
extern const sli_field sli_drawn_fields[SLI_DRAWN_FIELD_COUNT];

/* The one shared key that is a plain parameter, as a row of the source's own table. */
extern const sl_word sli_drawn_no_limit[];
#define SLI_DRAWN_MAX_TOKENS_PARAM                                                                 \
    {                                                                                              \
        .name = "max_tokens", .type = SL_TYPE_INT, .dim = SL_DIM_TOKENS, .min = 1, .max = 1e9,     \
        .words = sli_drawn_no_limit, .fallback = "none",                                           \
        .help = "the limit that clients send; longer outputs end there",                           \
        .offset = offsetof(sli_drawn_spec, max_tokens)                                             \
    }

/* The spec made ready; lives in the arena of the environment. */
typedef struct sli_drawn {
    uint64_t seed;
    uint32_t number;
    sli_dist prompt;
    sli_dist output;
    int64_t max_tokens;
    size_t system_count;
    int64_t system_tokens;
    const uint64_t *system_ids;    /* one id a system prompt */
    const double *system_cum_frac; /* cumulated Zipf shares, the last is 1 */
    const sli_priority_share *priorities;
    size_t priority_count;
} sli_drawn;

/* Checks what no single key can check (SL_ERR_CONFIG) and prepares the draw. */
SL_NODISCARD sl_err sli_drawn_init(const sli_drawn_spec *spec, const sli_source_env *env,
                                   sli_drawn *drawn);

/* Describes request `index`. Pure; O(log of the tables), O(n) in priorities. */
void sli_drawn_request(const sli_drawn *drawn, uint64_t index, sl_request_desc *desc);

/* Appends ", prompt ..., output ..." to a title. */
void sli_drawn_describe(const sli_drawn_spec *spec, char *text, size_t size);

#endif
