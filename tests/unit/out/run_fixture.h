/*
 * A small run worked out by hand, which several tests of this floor look at.
 *
 * Warm-up until 100 ns; objective: TTFT 100 ns and TPOT 10 ns. Six requests:
 *
 *   index  arrival  admit  first  last  tokens  what
 *   0         1000   1020   1100  1200      11  meets the objective, both limits exactly
 *   1         1000   1000   1050  1071       3  TPOT 10.5: misses it
 *   2         1500   1510   1590  1590       1  preempted before its only token; meets it
 *   3         1600                               rejected
 *   4         1700   1710   1790  (1800)     2  aborted
 *   5           10     11     15    90       4  of the warm-up
 */
#ifndef SLUICE_TEST_RUN_FIXTURE_H
#define SLUICE_TEST_RUN_FIXTURE_H

#include "out/collector.h"
#include "sluice/probe.h"

static const sl_request_record fixture_records[] = {
    {.request = SL_REQUEST_ID(0, 0),
     .outcome = SL_FINISHED,
     .arrival_ns = 1000,
     .admit_ns = 1020,
     .first_token_ns = 1100,
     .last_token_ns = 1200,
     .end_ns = 1200,
     .prompt_tokens = 50,
     .output_tokens = 11,
     .generated_tokens = 11,
     .hit_tokens = 20,
     .computed_tokens = 40,
     .phase_ns = {20, 80, 100, 0, 0},
     .own_ns = {70, 30, 10, 5, 5, 10},
     .interference_ns = 50,
     .first_own_ns = 60},
    {.request = SL_REQUEST_ID(0, 1),
     .replica = 1,
     .outcome = SL_FINISHED,
     .arrival_ns = 1000,
     .admit_ns = 1000,
     .first_token_ns = 1050,
     .last_token_ns = 1071,
     .end_ns = 1071,
     .prompt_tokens = 30,
     .output_tokens = 3,
     .generated_tokens = 3,
     .computed_tokens = 32,
     .phase_ns = {0, 50, 21, 0, 0},
     .own_ns = {40, 20, 5, 3, 0, 3},
     .first_own_ns = 50},
    {.request = SL_REQUEST_ID(0, 2),
     .outcome = SL_FINISHED,
     .arrival_ns = 1500,
     .admit_ns = 1510,
     .first_token_ns = 1590,
     .last_token_ns = 1590,
     .end_ns = 1590,
     .prompt_tokens = 20,
     .output_tokens = 1,
     .generated_tokens = 1,
     .rehit_tokens = 5,
     .computed_tokens = 30,
     .recomputed_tokens = 10,
     .preemption_count = 1,
     .phase_ns = {10, 30, 0, 25, 25},
     .own_ns = {20, 10, 5, 5, 0, 5},
     .interference_ns = 10,
     .first_own_ns = 45,
     .first_preempted_ns = 25},
    {.request = SL_REQUEST_ID(0, 3),
     .replica = SL_NO_REPLICA,
     .priority = -2,
     .outcome = SL_REJECTED,
     .arrival_ns = 1600,
     .admit_ns = -1,
     .first_token_ns = -1,
     .last_token_ns = -1,
     .end_ns = 1600,
     .prompt_tokens = 900,
     .output_tokens = 7},
    {.request = SL_REQUEST_ID(1, 0),
     .outcome = SL_ABORTED,
     .arrival_ns = 1700,
     .admit_ns = 1710,
     .first_token_ns = 1790,
     .last_token_ns = 1795,
     .end_ns = 1800,
     .prompt_tokens = 10,
     .output_tokens = 9,
     .generated_tokens = 2,
     .hit_tokens = 10,
     .computed_tokens = 5,
     .phase_ns = {10, 80, 10, 0, 0},
     .own_ns = {70, 0, 0, 0, 0, 0},
     .interference_ns = 20,
     .first_own_ns = 62},
    {.request = SL_REQUEST_ID(1, 1),
     .outcome = SL_FINISHED,
     .arrival_ns = 10,
     .admit_ns = 11,
     .first_token_ns = 15,
     .last_token_ns = 90,
     .end_ns = 90,
     .prompt_tokens = 8,
     .output_tokens = 4,
     .generated_tokens = 4,
     .hit_tokens = 8,
     .computed_tokens = 500,
     .recomputed_tokens = 400,
     .preemption_count = 9,
     .phase_ns = {1, 4, 70, 0, 0},
     .own_ns = {50, 10, 0, 0, 0, 0},
     .interference_ns = 14,
     .first_own_ns = 3},
};

enum { FIXTURE_RECORD_COUNT = sizeof fixture_records / sizeof fixture_records[0] };

/* Held and pool: 50 of 100 for 300 ns, 10 of 100 for 100 ns; 80 of 200 for 100 ns. */
static const sl_step_record fixture_steps[] = {
    {.start_ns = 0, .end_ns = 300, .tokens = 8, .held_blocks = 50, .pool_blocks = 100},
    {.start_ns = 300, .end_ns = 400, .tokens = 4, .held_blocks = 10, .pool_blocks = 100},
    {.start_ns = 50, .end_ns = 150, .replica = 1, .held_blocks = 80, .pool_blocks = 200},
};

static const sli_slo fixture_slo = {.ttft_ns = 100, .tpot_ns = 10, .attainment_frac = 0.9};

/* Requests arrive in the order of time, whatever the order of the records. */
static inline void fixture_arrive(const sl_probe *probe) {
    const int64_t last_arrival_ns = 2000;
    for (int64_t now_ns = 0; now_ns <= last_arrival_ns; now_ns++) {
        for (size_t i = 0; i < FIXTURE_RECORD_COUNT; i++) {
            const sl_request_record *record = &fixture_records[i];
            if (record->arrival_ns == now_ns) {
                sl_transition arrival = {.at_ns = now_ns,
                                         .kind = SL_ARRIVE,
                                         .replica = SL_NO_REPLICA,
                                         .request = record->request,
                                         .tokens = record->prompt_tokens};
                probe->ops->transition(probe->self, &arrival);
            }
        }
    }
}

/* The caller ends the collector. */
static inline sl_err fixture_collect(bool keep_requests, sli_collector *collector) {
    const sli_collector_options options = {
        .warmup_ns = 100, .replica_count = 2, .keep_requests = keep_requests, .slo = fixture_slo};
    SL_TRY(sli_collector_init(collector, &options));
    sl_probe probe = sli_collector_probe(collector);
    fixture_arrive(&probe);
    for (size_t i = 0; i < FIXTURE_RECORD_COUNT; i++) {
        probe.ops->terminal(probe.self, &fixture_records[i]);
    }
    for (size_t i = 0; i < sizeof fixture_steps / sizeof fixture_steps[0]; i++) {
        probe.ops->step(probe.self, &fixture_steps[i]);
    }
    probe.ops->gap(probe.self, 5, 3);
    probe.ops->gap(probe.self, 9, 1);
    return SL_OK;
}

#endif
