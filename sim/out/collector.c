#include "out/collector.h"

#include "base/check.h"
#include "base/grow.h"
#include "base/minmax.h"

#include <stdlib.h>

sl_err sli_collector_init(sli_collector *collector, const sli_collector_options *options) {
    sli_replica_totals *replicas = calloc(options->replica_count, sizeof *replicas);
    if (replicas == NULL && options->replica_count > 0) {
        return SL_ERR_NOMEM;
    }
    *collector = (sli_collector){
        .options = *options,
        .run_first_arrival_ns = -1,
        .first_arrival_ns = -1,
        .last_completion_ns = -1,
        .replicas = replicas,
        .last_step_end_ns = -1,
    };
    collector->ttft.keeps_values = options->keep_requests;
    collector->tpot.keeps_values = options->keep_requests;
    collector->e2e.keeps_values = options->keep_requests;
    collector->queue_delay.keeps_values = options->keep_requests;
    collector->normalised.keeps_values = options->keep_requests;
    return SL_OK;
}

void sli_collector_fini(sli_collector *collector) {
    sli_sample_fini(&collector->ttft);
    sli_sample_fini(&collector->tpot);
    sli_sample_fini(&collector->itl);
    sli_sample_fini(&collector->e2e);
    sli_sample_fini(&collector->queue_delay);
    sli_sample_fini(&collector->normalised);
    free(collector->splits);
    free(collector->replicas);
    *collector = (sli_collector){0};
}

sl_err sli_collector_status(const sli_collector *collector) {
    return collector->status;
}

static void remember(sli_collector *collector, sl_err err) {
    if (collector->status == SL_OK) {
        collector->status = err;
    }
}

/* The earlier of two times of which the first may not have come yet. */
static int64_t earlier(int64_t known_ns, int64_t at_ns) {
    return known_ns < 0 || at_ns < known_ns ? at_ns : known_ns;
}

/* value / count to the nearest whole number, halves up; value >= 0, count >= 1. */
static int64_t divide_rounded(int64_t value, int64_t count) {
    int64_t rest = value % count;
    return value / count + (rest >= count - rest);
}

static sl_err add_latencies(sli_collector *collector, const sl_request_record *record) {
    int64_t tokens = record->generated_tokens;
    int64_t e2e_ns = record->last_token_ns - record->arrival_ns;
    SL_TRY(sli_sample_add(&collector->ttft, record->first_token_ns - record->arrival_ns, 1));
    SL_TRY(sli_sample_add(&collector->e2e, e2e_ns, 1));
    SL_TRY(sli_sample_add(&collector->queue_delay, record->admit_ns - record->arrival_ns, 1));
    SL_TRY(sli_sample_add(&collector->normalised, divide_rounded(e2e_ns, tokens), 1));
    if (tokens > 1) {
        int64_t span_ns = record->last_token_ns - record->first_token_ns;
        SL_TRY(sli_sample_add(&collector->tpot, divide_rounded(span_ns, tokens - 1), 1));
    }
    return SL_OK;
}

/* Adds own time and interference; they are all of the running time, or the engine is wrong. */
static void add_running(sli_collector *collector, const sl_request_record *record) {
    int64_t left_ns = record->phase_ns[SL_PHASE_PREFILL] + record->phase_ns[SL_PHASE_DECODE] +
                      record->phase_ns[SL_PHASE_RECOMPUTE] - record->interference_ns;
    for (int cause = 0; cause < SL_CAUSE_COUNT; cause++) {
        collector->own_sums_ns[cause] += (uint64_t)record->own_ns[cause];
        left_ns -= record->own_ns[cause];
    }
    SL_ASSERT(record->interference_ns >= 0 && left_ns == 0);
    collector->interference_sum_ns += (uint64_t)record->interference_ns;
}

static sl_err add_split(sli_collector *collector, const sl_request_record *record) {
    int64_t outside_ns = record->phase_ns[SL_PHASE_QUEUED] + record->first_preempted_ns;
    int64_t running_ns = record->first_token_ns - record->arrival_ns - outside_ns;
    sli_ttft_split split = {
        .part_ns =
            {
                [SLI_TTFT_QUEUED] = record->phase_ns[SL_PHASE_QUEUED],
                [SLI_TTFT_OWN] = record->first_own_ns,
                [SLI_TTFT_INTERFERENCE] = running_ns - record->first_own_ns,
                [SLI_TTFT_PREEMPTED] = record->first_preempted_ns,
            },
        .arrival_ns = record->arrival_ns,
    };
    for (int part = 0; part < SLI_TTFT_PART_COUNT; part++) {
        SL_ASSERT(split.part_ns[part] >= 0);
        collector->ttft_sums_ns[part] += (uint64_t)split.part_ns[part];
    }
    if (!collector->options.keep_requests) {
        return SL_OK;
    }
    SL_TRY(sli_grow(&collector->splits, &collector->split_capacity, collector->split_count + 1,
                    sizeof *collector->splits));
    collector->splits[collector->split_count++] = split;
    return SL_OK;
}

static void add_finished(sli_collector *collector, const sl_request_record *record) {
    SL_ASSERT(record->generated_tokens >= 1);
    collector->finished_count++;
    collector->single_token_count += record->generated_tokens == 1;
    collector->last_completion_ns = sli_max_i64(collector->last_completion_ns, record->end_ns);
    collector->finished_prompt_tokens += record->prompt_tokens;
    collector->finished_output_tokens += record->generated_tokens;
    for (int phase = 0; phase < SL_PHASE_COUNT; phase++) {
        collector->phase_sums_ns[phase] += (uint64_t)record->phase_ns[phase];
    }
    add_running(collector, record);
    remember(collector, add_latencies(collector, record));
    remember(collector, add_split(collector, record));
}

static void on_terminal(void *self, const sl_request_record *record) {
    sli_collector *collector = self;
    SL_ASSERT(record->outcome >= SL_FINISHED && record->outcome <= SL_UNFINISHED);
    collector->outcome_counts[record->outcome]++;
    collector->run_first_arrival_ns = earlier(collector->run_first_arrival_ns, record->arrival_ns);
    if (record->outcome == SL_FINISHED && record->replica != SL_NO_REPLICA) {
        SL_ASSERT(record->replica < collector->options.replica_count);
        collector->replicas[record->replica].finished_count++;
    }
    if (record->arrival_ns < collector->options.warmup_ns) {
        collector->warmup_count++;
        return;
    }
    collector->measured_count++;
    collector->first_arrival_ns = earlier(collector->first_arrival_ns, record->arrival_ns);
    collector->slo_met_count += sli_slo_is_met(&collector->options.slo, record);
    collector->rehit_tokens += record->rehit_tokens;
    collector->computed_tokens += record->computed_tokens;
    collector->recomputed_tokens += record->recomputed_tokens;
    collector->preemption_count += record->preemption_count;
    if (record->admit_ns >= 0) {
        collector->admitted_count++;
        collector->admitted_prompt_tokens += record->prompt_tokens;
        collector->hit_tokens += record->hit_tokens;
    }
    if (record->outcome == SL_FINISHED) {
        add_finished(collector, record);
    }
}

static void note_arrival(sli_collector *collector, int64_t at_ns) {
    if (collector->arrived_count == 0) {
        collector->opening_arrival_ns = at_ns;
    }
    collector->arrived_count++;
    collector->waiting_count++;
    collector->last_waiting_count = collector->waiting_count;
    collector->last_arrival_ns = at_ns;
}

static void on_transition(void *self, const sl_transition *transition) {
    sli_collector *collector = self;
    switch ((sl_transition_kind)transition->kind) {
    case SL_ARRIVE:
        note_arrival(collector, transition->at_ns);
        break;
    case SL_REJECT: /* at the instant of its arrival */
        collector->waiting_count--;
        collector->last_waiting_count--;
        break;
    case SL_ADMIT:
        collector->waiting_count--;
        break;
    case SL_PREEMPT:
        collector->waiting_count++;
        break;
    case SL_ABORT: /* one that runs holds a block */
        collector->waiting_count -= transition->blocks == 0;
        break;
    case SL_FIRST:
    case SL_FINISH:
        break;
    }
}

static void on_step(void *self, const sl_step_record *step) {
    sli_collector *collector = self;
    SL_ASSERT(step->replica < collector->options.replica_count);
    sli_replica_totals *replica = &collector->replicas[step->replica];
    int64_t length_ns = step->end_ns - step->start_ns;
    replica->step_count++;
    replica->busy_ns += length_ns;
    replica->tokens += step->tokens;
    replica->prefill_tokens += step->prefill_tokens;
    replica->pool_blocks = step->pool_blocks;
    replica->held_block_ns += (sli_u128)(uint64_t)step->held_blocks * (uint64_t)length_ns;
    replica->pool_block_ns += (sli_u128)(uint64_t)step->pool_blocks * (uint64_t)length_ns;
    replica->peak_blocks = sli_max_i64(replica->peak_blocks, step->held_blocks);
    if (step->pool_blocks > 0) {
        double frac = (double)step->held_blocks / (double)step->pool_blocks;
        replica->peak_frac = frac > replica->peak_frac ? frac : replica->peak_frac;
    }
    collector->last_step_end_ns = sli_max_i64(collector->last_step_end_ns, step->end_ns);
}

static void on_gap(void *self, int64_t gap_ns, int64_t count) {
    sli_collector *collector = self;
    remember(collector, sli_sample_add(&collector->itl, gap_ns, (uint64_t)count));
}

sl_probe sli_collector_probe(sli_collector *collector) {
    static const sl_probe_ops ops = {
        .transition = on_transition,
        .step = on_step,
        .gap = on_gap,
        .terminal = on_terminal,
    };
    return (sl_probe){&ops, collector};
}
