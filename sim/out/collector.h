/*
 * The collector: a probe that keeps what the metrics are made of.
 *
 * Floor out. It only adds up; what the sums mean is said in out/metrics.h. The populations:
 *
 *   measured  requests that arrived at or after warmup_ns, whatever became of them;
 *   finished  the measured ones that delivered all their tokens: latencies and throughput are
 *             theirs alone;
 *   admitted  the measured ones that were ever admitted: prefix hits are counted over them.
 *
 * Requests that arrived during the warm-up appear in the counts by outcome and nowhere else. Steps
 * and gaps between tokens are taken from the whole run, because they belong to no single request.
 *
 * Two splits are exact, in whole nanoseconds, for every request and so for their sums:
 *
 *   running time  = phases prefill + decode + recompute = own by cause + interference
 *   TTFT          = queued + own + interference + preempted, all until the first token
 *
 * The second holds because a request is in phase `queued` only before its first token; because the
 * record says what it had of its own and of the phase `preempted` by then; and because it was
 * running for the rest, so that what was not its own there was interference. Computing again after
 * a preemption counts as running, in both.
 *
 * The caller owns the struct. O(1) a hook; memory is fixed (about half a megabyte), and with
 * keep_requests 72 bytes a finished request more. A hook cannot answer an error, so the first one
 * is remembered and reported by sli_collector_status; the sums mean nothing afterwards.
 */
#ifndef SLUICE_OUT_COLLECTOR_H
#define SLUICE_OUT_COLLECTOR_H

#include "out/sample.h"
#include "out/slo.h"
#include "sluice/err.h"
#include "sluice/probe.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sli_collector_options {
    int64_t warmup_ns;
    uint32_t replica_count; /* replicas of records are below it */
    bool keep_requests;     /* exact quantiles, and the attribution of the P99 */
    sli_slo slo;
} sli_collector_options;

__extension__ typedef unsigned __int128 sli_u128;

/* What one replica did, from its step records. */
typedef struct sli_replica_totals {
    int64_t step_count;
    int64_t busy_ns; /* the lengths of its steps */
    int64_t tokens;  /* computed */
    int64_t prefill_tokens;
    int64_t finished_count; /* requests that ended here, the warm-up among them */
    int64_t pool_blocks;    /* of its last step */
    int64_t peak_blocks;    /* most blocks held */
    double peak_frac;       /* the largest share of the pool held */
    sli_u128 held_block_ns; /* held blocks over busy time */
    sli_u128 pool_block_ns; /* the pool over busy time */
} sli_replica_totals;

/* What the time to a first token consists of. */
typedef enum sli_ttft_part {
    SLI_TTFT_QUEUED,       /* before the first admission */
    SLI_TTFT_OWN,          /* running, own time */
    SLI_TTFT_INTERFERENCE, /* running, the time of others */
    SLI_TTFT_PREEMPTED,    /* waiting again after a preemption */
    SLI_TTFT_PART_COUNT
} sli_ttft_part;

/* Of one finished request; they sum to its TTFT. */
typedef struct sli_ttft_split {
    int64_t part_ns[SLI_TTFT_PART_COUNT];
    int64_t arrival_ns;
} sli_ttft_split;

typedef struct sli_collector {
    sli_collector_options options;
    sl_err status;

    int64_t arrived_count; /* transitions */
    int64_t outcome_counts[SL_UNFINISHED + 1];
    int64_t warmup_count; /* terminal records of the warm-up */
    int64_t measured_count;
    int64_t finished_count;
    int64_t admitted_count;
    int64_t single_token_count; /* finished with one token: they have no TPOT */
    int64_t slo_met_count;

    int64_t waiting_count;      /* requests that are in no batch, by their transitions */
    int64_t last_waiting_count; /* of them when the last request arrived */
    int64_t last_arrival_ns;    /* of all requests, by transitions; -1 = none */
    int64_t opening_arrival_ns; /* the first of them */

    int64_t run_first_arrival_ns; /* of all requests; -1 = none */
    int64_t first_arrival_ns;     /* of the measured; -1 = none */
    int64_t last_completion_ns;   /* of the finished; -1 = none */
    int64_t finished_prompt_tokens;
    int64_t finished_output_tokens;
    int64_t admitted_prompt_tokens;
    int64_t hit_tokens;
    int64_t rehit_tokens;
    int64_t computed_tokens;
    int64_t recomputed_tokens;
    int64_t preemption_count;
    /* Of the finished. */
    sli_u128 phase_sums_ns[SL_PHASE_COUNT];
    sli_u128 own_sums_ns[SL_CAUSE_COUNT];
    sli_u128 interference_sum_ns;
    sli_u128 ttft_sums_ns[SLI_TTFT_PART_COUNT];

    sli_sample ttft;        /* ns */
    sli_sample tpot;        /* ns, each rounded to a whole one */
    sli_sample itl;         /* ns; never kept one by one */
    sli_sample e2e;         /* ns */
    sli_sample queue_delay; /* ns */
    sli_sample normalised;  /* ns a token, each rounded to a whole one */

    sli_ttft_split *splits; /* of the finished, with keep_requests */
    size_t split_count;
    size_t split_capacity;

    sli_replica_totals *replicas; /* options.replica_count of them */
    int64_t last_step_end_ns;     /* -1 = no step */
} sli_collector;

SL_NODISCARD sl_err sli_collector_init(sli_collector *collector,
                                       const sli_collector_options *options);
void sli_collector_fini(sli_collector *collector);

/* The probe borrows the collector. */
sl_probe sli_collector_probe(sli_collector *collector);

/* SL_OK, or the first failure inside a hook. */
SL_NODISCARD sl_err sli_collector_status(const sli_collector *collector);

#endif
