/*
 * A rehearsal: one small world played with one policy in one manner, watched at every step.
 *
 * While it runs, each step is checked against its budget and seats and the pool is audited; at the
 * end, that every request ended once and as it must, and that tokens, blocks and time add up.
 */
#ifndef TESTS_CONFORM_REHEARSAL_H
#define TESTS_CONFORM_REHEARSAL_H

#include "script.h"

/* How the planning conversation is held. */
typedef struct sli_manner {
    bool keeps_promises;    /* else the policy is asked at every step */
    const sl_plan_ops *ops; /* in place of the engine's; NULL = the engine's */
    sl_cost_model cost;     /* in place of the world's; without ops = the world's */
    size_t interrupt_after; /* so many transitions, as by Ctrl-C; 0 = never */
} sli_manner;

enum { SLI_BROKEN_CHARS = 256 };

typedef struct sli_rehearsal {
    sl_err status; /* SL_OK, or the verdict of the simulator with its text */
    char text[SLI_FAULT_CHARS];
    char broken[SLI_BROKEN_CHARS]; /* the first law that was broken; "" = none */
    int64_t end_ns;
    int64_t steps;
    int64_t asks; /* of the policy */
    int64_t preemptions;
    int64_t aborts;
    int64_t hit_tokens;
    uint64_t step_mark; /* of all steps and gaps, in whatever order they were told: equal worlds */
    uint64_t gap_mark;  /* have equal marks */
    sl_transition *transitions;
    size_t transition_count;
    size_t transition_capacity;
    sl_request_record records[SLI_SMALL_REQUESTS];
    int record_count[SLI_SMALL_REQUESTS];
} sli_rehearsal;

/* `values` are the parameters of the policy, instance_bytes of them; NULL = all zero. Free the
 * rehearsal with sli_rehearsal_fini. */
void sli_rehearse(const sli_small_world *world, const sl_batch_policy *policy, const void *values,
                  const sli_manner *manner, sli_rehearsal *rehearsal);

/* The same with a route policy that is not built in; it has no state. */
void sli_rehearse_route(const sli_small_world *world, const sl_batch_policy *policy,
                        const sl_route_policy *route, sli_rehearsal *rehearsal);

void sli_rehearsal_fini(sli_rehearsal *rehearsal);

/* One number for all that a rehearsal saw: transitions, records, steps, gaps, and how it ended. */
uint64_t sli_rehearsal_mark(const sli_rehearsal *rehearsal);

/* Writes where two sequences of transitions part; false when they are the same. */
bool sli_transitions_differ(const sl_transition *a, size_t a_count, const sl_transition *b,
                            size_t b_count, char text[SLI_BROKEN_CHARS]);

#endif
