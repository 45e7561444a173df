/*
 * The metrics of a run: what the collector's sums mean.
 *
 * Floor out. Populations are those of out/collector.h. A quantile is the linear interpolation
 * between order statistics at h = (n - 1) p. What has no value is null, never 0: a mean over
 * nothing, a rate over an empty window, an objective that nobody asked for.
 *
 *   TTFT               first token - arrival
 *   TPOT               (last token - first token) / (tokens - 1); one-token outputs have none
 *   ITL                gaps between tokens of one request, each weighted once; of the whole run
 *   E2E                last token - arrival
 *   queue delay        first admission - arrival
 *   normalised latency E2E / tokens, the mean over requests (Yu et al., Orca, OSDI 2022)
 *   own, interference  of the running time (phases prefill, decode, recompute), which they sum to:
 *                      what the request would have needed without the prefills of others, by cause,
 *                      and the rest (sluice/probe.h)
 *   TTFT parts         queued + own + interference + preempted, until the first token, as shares of
 *                      the sum of the TTFTs (out/collector.h)
 *   throughput         of the finished, over [first arrival measured, last completion]
 *   offered            (arrivals - 1) / (last arrival - first arrival)
 *   backlog            requests in no batch when the last one arrived / arrivals: a system that
 *                      keeps up has a small one however long it runs
 *   SLO attainment     requests that meet the objective / measured requests (rejected, aborted and
 *                      unfinished ones do not meet it)
 *   goodput            requests that meet the objective / the window of the throughput
 *   prefix hit         sum of tokens hit at the first admission / sum of prompt tokens, admitted
 *   re-prefilled       tokens computed that had been computed before / all tokens computed
 *   KV mean            sum of held blocks x step time / sum of pool blocks x step time: the mean
 *                      over busy time, not over the clock
 *   KV peak            the largest share of its pool that any replica held
 *   busy               step time / (replicas x (last step end - first arrival))
 */
#ifndef SLUICE_OUT_METRICS_H
#define SLUICE_OUT_METRICS_H

#include "out/collector.h"

#include <stddef.h>
#include <stdint.h>

typedef enum sli_value_kind { SLI_VALUE_NULL, SLI_VALUE_INT, SLI_VALUE_REAL } sli_value_kind;

typedef struct sli_value {
    sli_value_kind kind;
    int64_t integer; /* SLI_VALUE_INT */
    double real;     /* SLI_VALUE_REAL; finite */
} sli_value;

/* n is the number of items that the value is taken over, as requests, gaps or steps. */
typedef struct sli_metric {
    const char *name; /* ends in the unit; a literal */
    const char *unit;
    sli_value value;
    int64_t n;
} sli_metric;

/* The parts of a time to the first token as shares of it; they sum to 1. */
typedef struct sli_ttft_shares {
    int64_t count; /* requests they are taken over; 0 = none, the shares mean nothing */
    double part_frac[SLI_TTFT_PART_COUNT];
} sli_ttft_shares;

/* Where the running time went: own time by cause and interference; they sum to 1. */
typedef struct sli_running_shares {
    int64_t count; /* 0 = none, the shares mean nothing */
    double own_frac[SL_CAUSE_COUNT];
    double interference_frac;
} sli_running_shares;

#define SLI_METRIC_MAX 96

typedef struct sli_metrics {
    sli_spread ttft_ns;
    sli_spread tpot_ns;
    sli_spread itl_ns;
    sli_spread e2e_ns;
    sli_spread queue_delay_ns;
    sli_spread normalised_ns_per_token;
    sli_ttft_shares ttft_mean_shares; /* over all finished */
    sli_ttft_shares ttft_p99_shares;  /* over those at or above the P99; needs kept requests */
    int64_t p99_first_arrival_ns;     /* of those; they mean something if their count is not 0 */
    int64_t p99_last_arrival_ns;
    int64_t arrival_span_ns; /* from the first arrival to the last, of all requests */
    sli_running_shares running_shares;

    int64_t arrived_count;
    int64_t finished_count; /* by outcome, the warm-up among them */
    int64_t rejected_count;
    int64_t aborted_count;
    int64_t unfinished_count;
    int64_t warmup_count;
    int64_t measured_count;
    int64_t single_token_count;
    int64_t slo_met_count;
    int64_t preemption_count;
    int64_t step_count;
    int64_t pool_blocks; /* the largest of a replica; 0 = no step ran */
    sli_value request_offered_per_s;
    sli_value backlog_frac;
    sli_value request_throughput_per_s;
    sli_value output_throughput_tokens_per_s;
    sli_value prompt_throughput_tokens_per_s;
    sli_value slo_attainment_frac;
    sli_value goodput_per_s;
    sli_value prefix_hit_frac;
    sli_value reprefilled_frac;
    sli_value kv_peak_frac;
    sli_value kv_mean_frac;
    sli_value busy_frac;

    const sli_replica_totals *replicas; /* borrowed from the collector */
    uint32_t replica_count;

    /*
     * Always the same names in the same order: requests, latencies, phases, own time and
     * interference, shares of the TTFT, rates, cache and steps.
     */
    sli_metric list[SLI_METRIC_MAX];
    size_t list_count;
} sli_metrics;

/*
 * Sums up; the collector must outlive the metrics. Answers the collector's own failure if it has
 * one. O(n log n) with kept requests, else O(1).
 */
SL_NODISCARD sl_err sli_metrics_make(const sli_collector *collector, sli_metrics *metrics);

/* The metric of a name, or NULL. O(metrics). */
const sli_metric *sli_metrics_find(const sli_metrics *metrics, const char *name);

#endif
