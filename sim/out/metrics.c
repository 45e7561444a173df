#include "out/metrics.h"

#include "base/check.h"
#include "base/minmax.h"

#include <math.h>
#include <string.h>

static const double ns_per_s = 1e9;

/* Values ------------------------------------------------------------------------------------ */

static sli_value null_value(void) {
    return (sli_value){.kind = SLI_VALUE_NULL};
}

static sli_value int_value(int64_t integer) {
    return (sli_value){.kind = SLI_VALUE_INT, .integer = integer};
}

static sli_value real_value(double real) {
    if (!isfinite(real)) {
        return null_value();
    }
    return (sli_value){.kind = SLI_VALUE_REAL, .real = real};
}

/* Null over nothing. */
static sli_value ratio(double part, double whole) {
    return whole > 0 ? real_value(part / whole) : null_value();
}

/* Typed sums -------------------------------------------------------------------------------- */

static sl_err summarise_latencies(const sli_collector *c, sli_metrics *m) {
    SL_TRY(sli_sample_summarise(&c->ttft, &m->ttft_ns));
    SL_TRY(sli_sample_summarise(&c->tpot, &m->tpot_ns));
    SL_TRY(sli_sample_summarise(&c->itl, &m->itl_ns));
    SL_TRY(sli_sample_summarise(&c->e2e, &m->e2e_ns));
    SL_TRY(sli_sample_summarise(&c->queue_delay, &m->queue_delay_ns));
    return sli_sample_summarise(&c->normalised, &m->normalised_ns_per_token);
}

static void sum_counts(const sli_collector *c, sli_metrics *m) {
    m->arrived_count = c->arrived_count;
    m->finished_count = c->outcome_counts[SL_FINISHED];
    m->rejected_count = c->outcome_counts[SL_REJECTED];
    m->aborted_count = c->outcome_counts[SL_ABORTED];
    m->unfinished_count = c->outcome_counts[SL_UNFINISHED];
    m->warmup_count = c->warmup_count;
    m->measured_count = c->measured_count;
    m->single_token_count = c->single_token_count;
    m->slo_met_count = c->slo_met_count;
    m->preemption_count = c->preemption_count;
}

static void sum_rates(const sli_collector *c, sli_metrics *m) {
    double window_s = 0; /* nothing finished = no window = no rate */
    if (c->finished_count > 0) {
        window_s = (double)(c->last_completion_ns - c->first_arrival_ns) / ns_per_s;
    }
    double arrivals_s = (double)(c->last_arrival_ns - c->opening_arrival_ns) / 1e9;
    m->request_offered_per_s = ratio((double)(c->arrived_count - 1), arrivals_s);
    m->backlog_frac = ratio((double)c->last_waiting_count, (double)c->arrived_count);
    m->request_throughput_per_s = ratio((double)c->finished_count, window_s);
    m->output_throughput_tokens_per_s = ratio((double)c->finished_output_tokens, window_s);
    m->prompt_throughput_tokens_per_s = ratio((double)c->finished_prompt_tokens, window_s);
    m->slo_attainment_frac = null_value();
    m->goodput_per_s = null_value();
    if (sli_slo_is_set(&c->options.slo)) {
        m->slo_attainment_frac = ratio((double)c->slo_met_count, (double)c->measured_count);
        m->goodput_per_s = ratio((double)c->slo_met_count, window_s);
    }
    m->prefix_hit_frac = ratio((double)c->hit_tokens, (double)c->admitted_prompt_tokens);
    m->reprefilled_frac = ratio((double)c->recomputed_tokens, (double)c->computed_tokens);
}

static void sum_replicas(const sli_collector *c, sli_metrics *m) {
    sli_u128 held_block_ns = 0;
    sli_u128 pool_block_ns = 0;
    double busy_ns = 0;
    double peak_frac = 0;
    m->replicas = c->replicas;
    m->replica_count = c->options.replica_count;
    for (uint32_t i = 0; i < m->replica_count; i++) {
        const sli_replica_totals *replica = &c->replicas[i];
        held_block_ns += replica->held_block_ns;
        pool_block_ns += replica->pool_block_ns;
        busy_ns += (double)replica->busy_ns;
        if (replica->peak_frac > peak_frac) {
            peak_frac = replica->peak_frac;
        }
        m->step_count += replica->step_count;
        m->pool_blocks = sli_max_i64(m->pool_blocks, replica->pool_blocks);
    }
    m->kv_mean_frac = ratio((double)held_block_ns, (double)pool_block_ns);
    m->kv_peak_frac = pool_block_ns > 0 ? real_value(peak_frac) : null_value();
    double span_ns = 0;
    if (c->last_step_end_ns >= 0 && c->run_first_arrival_ns >= 0) {
        span_ns = (double)(c->last_step_end_ns - c->run_first_arrival_ns);
    }
    m->busy_frac = ratio(busy_ns, span_ns * (double)m->replica_count);
}

static sli_ttft_shares ttft_shares(const sli_u128 sums_ns[SLI_TTFT_PART_COUNT], int64_t count) {
    sli_u128 total_ns = 0;
    for (int part = 0; part < SLI_TTFT_PART_COUNT; part++) {
        total_ns += sums_ns[part];
    }
    sli_ttft_shares shares = {0};
    if (total_ns > 0) {
        shares.count = count;
        for (int part = 0; part < SLI_TTFT_PART_COUNT; part++) {
            shares.part_frac[part] = (double)sums_ns[part] / (double)total_ns;
        }
    }
    return shares;
}

/* Widens the window in which the slowest requests arrived. */
static void note_tail_arrival(sli_metrics *m, int64_t arrival_ns, int64_t earlier_count) {
    if (earlier_count == 0 || arrival_ns < m->p99_first_arrival_ns) {
        m->p99_first_arrival_ns = arrival_ns;
    }
    if (earlier_count == 0 || arrival_ns > m->p99_last_arrival_ns) {
        m->p99_last_arrival_ns = arrival_ns;
    }
}

static void attribute_ttft(const sli_collector *c, sli_metrics *m) {
    m->ttft_mean_shares = ttft_shares(c->ttft_sums_ns, c->finished_count);
    sli_u128 sums_ns[SLI_TTFT_PART_COUNT] = {0};
    int64_t count = 0;
    for (size_t i = 0; i < c->split_count; i++) {
        int64_t ttft_ns = 0;
        for (int part = 0; part < SLI_TTFT_PART_COUNT; part++) {
            ttft_ns += c->splits[i].part_ns[part];
        }
        if ((double)ttft_ns < m->ttft_ns.p99) {
            continue;
        }
        for (int part = 0; part < SLI_TTFT_PART_COUNT; part++) {
            sums_ns[part] += (uint64_t)c->splits[i].part_ns[part];
        }
        note_tail_arrival(m, c->splits[i].arrival_ns, count);
        count++;
    }
    m->arrival_span_ns = c->last_arrival_ns - c->opening_arrival_ns;
    m->ttft_p99_shares = ttft_shares(sums_ns, count);
}

static void attribute_running(const sli_collector *c, sli_metrics *m) {
    sli_u128 total_ns = c->interference_sum_ns;
    for (int cause = 0; cause < SL_CAUSE_COUNT; cause++) {
        total_ns += c->own_sums_ns[cause];
    }
    if (total_ns == 0) {
        return;
    }
    sli_running_shares *shares = &m->running_shares;
    shares->count = c->finished_count;
    shares->interference_frac = (double)c->interference_sum_ns / (double)total_ns;
    for (int cause = 0; cause < SL_CAUSE_COUNT; cause++) {
        shares->own_frac[cause] = (double)c->own_sums_ns[cause] / (double)total_ns;
    }
}

/* The flat list ----------------------------------------------------------------------------- */

static void list(sli_metrics *m, const char *name, const char *unit, sli_value value, int64_t n) {
    SL_ASSERT(m->list_count < SLI_METRIC_MAX);
    m->list[m->list_count++] = (sli_metric){name, unit, value, n};
}

static void list_count(sli_metrics *m, const char *name, const char *unit, int64_t value,
                       int64_t n) {
    list(m, name, unit, int_value(value), n);
}

/* Six metrics of one spread; `names` in the order of the statistics below. */
static void list_spread(sli_metrics *m, const char *const names[6], const char *unit,
                        const sli_spread *s) {
    bool is_empty = s->count == 0;
    const double reals[] = {s->mean, s->p50, s->p90, s->p95, s->p99};
    for (size_t i = 0; i < 5; i++) {
        list(m, names[i], unit, is_empty ? null_value() : real_value(reals[i]), s->count);
    }
    list(m, names[5], unit, is_empty ? null_value() : int_value(s->max), s->count);
}

#define SPREAD_NAMES(metric, unit)                                                                 \
    ((const char *const[6]){metric "_mean_" unit, metric "_p50_" unit, metric "_p90_" unit,        \
                            metric "_p95_" unit, metric "_p99_" unit, metric "_max_" unit})

static void list_latencies(sli_metrics *m) {
    list_spread(m, SPREAD_NAMES("ttft", "ns"), "ns", &m->ttft_ns);
    list_spread(m, SPREAD_NAMES("tpot", "ns"), "ns", &m->tpot_ns);
    list_spread(m, SPREAD_NAMES("itl", "ns"), "ns", &m->itl_ns);
    list_spread(m, SPREAD_NAMES("e2e", "ns"), "ns", &m->e2e_ns);
    list_spread(m, SPREAD_NAMES("queue_delay", "ns"), "ns", &m->queue_delay_ns);
    list_spread(m, SPREAD_NAMES("normalised_latency", "ns_per_token"), "ns/token",
                &m->normalised_ns_per_token);
}

static void list_phases(const sli_collector *c, sli_metrics *m) {
    static const char *const names[SL_PHASE_COUNT] = {
        [SL_PHASE_QUEUED] = "phase_queued_mean_ns",
        [SL_PHASE_PREFILL] = "phase_prefill_mean_ns",
        [SL_PHASE_DECODE] = "phase_decode_mean_ns",
        [SL_PHASE_PREEMPTED] = "phase_preempted_mean_ns",
        [SL_PHASE_RECOMPUTE] = "phase_recompute_mean_ns",
    };
    int64_t n = c->finished_count;
    for (int phase = 0; phase < SL_PHASE_COUNT; phase++) {
        list(m, names[phase], "ns", ratio((double)c->phase_sums_ns[phase], (double)n), n);
    }
}

static void list_running(const sli_collector *c, sli_metrics *m) {
    static const char *const names[SL_CAUSE_COUNT] = {
        [SL_CAUSE_GEMM] = "own_gemm_mean_ns",
        [SL_CAUSE_ATTENTION] = "own_attention_mean_ns",
        [SL_CAUSE_ELEMENTWISE] = "own_elementwise_mean_ns",
        [SL_CAUSE_HEAD] = "own_head_mean_ns",
        [SL_CAUSE_COLLECTIVE] = "own_collective_mean_ns",
        [SL_CAUSE_ENGINE] = "own_engine_mean_ns",
    };
    int64_t n = c->finished_count;
    for (int cause = 0; cause < SL_CAUSE_COUNT; cause++) {
        list(m, names[cause], "ns", ratio((double)c->own_sums_ns[cause], (double)n), n);
    }
    list(m, "interference_mean_ns", "ns", ratio((double)c->interference_sum_ns, (double)n), n);
}

static void list_ttft_shares(sli_metrics *m, const char *const names[SLI_TTFT_PART_COUNT],
                             const sli_ttft_shares *shares) {
    for (int part = 0; part < SLI_TTFT_PART_COUNT; part++) {
        bool has_value = shares->count > 0;
        sli_value value = has_value ? real_value(shares->part_frac[part]) : null_value();
        list(m, names[part], "1", value, shares->count);
    }
}

#define TTFT_SHARE_NAMES(statistic)                                                                \
    ((const char *const[SLI_TTFT_PART_COUNT]){                                                     \
        [SLI_TTFT_QUEUED] = "ttft_" statistic "_queued_frac",                                      \
        [SLI_TTFT_OWN] = "ttft_" statistic "_own_frac",                                            \
        [SLI_TTFT_INTERFERENCE] = "ttft_" statistic "_interference_frac",                          \
        [SLI_TTFT_PREEMPTED] = "ttft_" statistic "_preempted_frac",                                \
    })

static void list_attribution(const sli_collector *c, sli_metrics *m) {
    list_running(c, m);
    list_ttft_shares(m, TTFT_SHARE_NAMES("mean"), &m->ttft_mean_shares);
    list_ttft_shares(m, TTFT_SHARE_NAMES("p99"), &m->ttft_p99_shares);
}

static void list_rates(const sli_collector *c, sli_metrics *m) {
    int64_t finished = c->finished_count;
    int64_t measured = c->measured_count;
    list(m, "request_offered_per_s", "1/s", m->request_offered_per_s, m->arrived_count);
    list(m, "backlog_frac", "1", m->backlog_frac, m->arrived_count);
    list(m, "request_throughput_per_s", "1/s", m->request_throughput_per_s, finished);
    list(m, "output_throughput_tokens_per_s", "tokens/s", m->output_throughput_tokens_per_s,
         finished);
    list(m, "prompt_throughput_tokens_per_s", "tokens/s", m->prompt_throughput_tokens_per_s,
         finished);
    list(m, "slo_attainment_frac", "1", m->slo_attainment_frac, measured);
    list(m, "goodput_per_s", "1/s", m->goodput_per_s, measured);
}

static void list_cache(const sli_collector *c, sli_metrics *m) {
    list_count(m, "prefix_hit_tokens", "tokens", c->hit_tokens, c->admitted_count);
    list_count(m, "prefix_rehit_tokens", "tokens", c->rehit_tokens, c->admitted_count);
    list(m, "prefix_hit_frac", "1", m->prefix_hit_frac, c->admitted_count);
    list_count(m, "computed_tokens", "tokens", c->computed_tokens, c->measured_count);
    list_count(m, "reprefilled_tokens", "tokens", c->recomputed_tokens, c->measured_count);
    list(m, "reprefilled_frac", "1", m->reprefilled_frac, c->measured_count);
    list_count(m, "preemption_count", "1", c->preemption_count, c->measured_count);
    list(m, "kv_peak_frac", "1", m->kv_peak_frac, m->step_count);
    list(m, "kv_mean_frac", "1", m->kv_mean_frac, m->step_count);
    list(m, "busy_frac", "1", m->busy_frac, m->step_count);
    list_count(m, "step_count", "1", m->step_count, m->step_count);
}

static void list_requests(sli_metrics *m) {
    int64_t arrived = m->arrived_count;
    list_count(m, "requests_arrived_count", "1", arrived, arrived);
    list_count(m, "requests_finished_count", "1", m->finished_count, arrived);
    list_count(m, "requests_rejected_count", "1", m->rejected_count, arrived);
    list_count(m, "requests_aborted_count", "1", m->aborted_count, arrived);
    list_count(m, "requests_unfinished_count", "1", m->unfinished_count, arrived);
    list_count(m, "requests_warmup_count", "1", m->warmup_count, arrived);
    list_count(m, "requests_single_token_count", "1", m->single_token_count, arrived);
}

sl_err sli_metrics_make(const sli_collector *collector, sli_metrics *metrics) {
    SL_TRY(sli_collector_status(collector));
    sli_metrics made = {0};
    SL_TRY(summarise_latencies(collector, &made));
    sum_counts(collector, &made);
    sum_rates(collector, &made);
    sum_replicas(collector, &made);
    attribute_ttft(collector, &made);
    attribute_running(collector, &made);
    list_requests(&made);
    list_latencies(&made);
    list_phases(collector, &made);
    list_attribution(collector, &made);
    list_rates(collector, &made);
    list_cache(collector, &made);
    *metrics = made;
    return SL_OK;
}

const sli_metric *sli_metrics_find(const sli_metrics *metrics, const char *name) {
    for (size_t i = 0; i < metrics->list_count; i++) {
        if (strcmp(metrics->list[i].name, name) == 0) {
            return &metrics->list[i];
        }
    }
    return NULL;
}
