/*
 * A scheduler core: one queue, the running requests, their KV pool and the policy that plans.
 *
 * Floor engine. A running request is in lockstep (engine/lockstep.h) or loose: computing its
 * prompt, left out of a step, or using up a reservation that will not last. A regular step touches
 * the loose ones only. The planning
 * conversation (plan.c) changes a core; the step (step.c) reads its plan, takes time, and advances
 * it. Knows nothing of routing or of other replicas.
 */
#ifndef SLUICE_ENGINE_CORE_H
#define SLUICE_ENGINE_CORE_H

#include "engine/lockstep.h"
#include "engine/queue.h"

typedef enum sli_victim { SLI_VICTIM_LAST, SLI_VICTIM_WORST } sli_victim;

/* What the engine is told to do; constant during a run. */
typedef struct sli_engine_config {
    int64_t max_batched_tokens;
    int64_t max_seqs;
    int64_t max_model_tokens;
    int64_t watermark_blocks;
    sli_order order;
    sli_victim victim;
    bool keeps_promises; /* engine.coalesce: plans promised by repeat() are not asked for */
    sli_pool_config pool;
} sli_engine_config;

/* A promise that the policy made and what would end it. */
typedef struct sli_promise {
    int64_t steps_left;
    uint32_t disturbances;
    uint64_t arrival_count; /* of both queues, when it was made */
    uint64_t head_count;    /* of the shared queue */
    int64_t free_blocks;    /* with no more of them who waits for room goes on waiting */
} sli_promise;

/* The plan that is being made, and then in flight. */
typedef struct sli_plan_state {
    int64_t budget_left; /* INT64_MAX without a budget */
    int64_t planned_tokens;
    int64_t prefill_tokens; /* those of chunks; known when the step begins */
    int64_t planned_requests;
    int64_t decoding;       /* running requests with nothing but their last token pending before */
    int64_t lockstep_taken; /* members of the lockstep among them */
    bool lockstep_bulk;     /* they were taken all at once, else their planned_tokens say which */
    int64_t admitted;
    int64_t preempted;
    bool only_decodes; /* all running requests decode, one token each */
    int64_t repeat_steps;
    uint32_t repeat_disturbances;
    int64_t wake_ns; /* SLI_NEVER = none */
} sli_plan_state;

typedef struct sli_core {
    sl_plan plan; /* first, so that the conversation finds its core */
    sli_world *world;
    uint32_t index; /* of the replica */
    const sli_engine_config *config;
    const sl_batch_policy *policy;
    void *policy_self;
    int64_t state_block_tokens; /* chunks of a prompt end with blocks of states; 0 = anywhere */
    sli_pool pool;
    sli_queue queue;           /* its own */
    sli_queue *shared;         /* of the cluster */
    sl_request *first_running; /* all of them, in the order of admission */
    sl_request *last_running;
    sl_request *first_loose; /* those outside the lockstep, in the same order */
    sl_request *last_loose;
    int64_t running;
    uint64_t admit_count; /* ever */
    sli_lockstep lockstep;
    int64_t cancelled; /* running requests that end with the step in flight */
    sl_request **ripe; /* scratch of step.c */
    size_t ripe_capacity;
    sli_plan_state state;
    sli_promise promise;
    bool has_ended;        /* since the last plan a request ended: no promise survives that */
    int64_t stalled_steps; /* since any request got further than ever before */
} sli_core;

/* `policy_self` is an initialised instance that the caller owns; `cost` says what to sum up, and
 * may be NULL. */
SL_NODISCARD sl_err sli_core_init(sli_core *core, sli_world *world, uint32_t index,
                                  const sli_engine_config *config, const sl_batch_policy *policy,
                                  void *policy_self, sli_queue *shared, const sl_cost_model *cost);

/* Requests that are still in the core must have been removed. */
void sli_core_fini(sli_core *core);

/* Appends to the running list, loose; O(1). */
void sli_core_seat(sli_core *core, sl_request *request);

/* Takes a request out of the running list; its blocks are released, its plan forgotten. What only
 * it can find again is kept for it if it will be back. */
void sli_core_unseat(sli_core *core, sl_request *request, bool will_be_back);

/* A loose request that has just emitted a token goes on in lockstep. */
SL_NODISCARD sl_err sli_core_join_lockstep(sli_core *core, sl_request *request);

/* A member of the lockstep becomes loose, its own figures up to date. */
void sli_core_leave_lockstep(sli_core *core, sl_request *request);

/* The running request that kind `preempt` gives up: the last one, or the worst by (priority,
 * arrival); NULL if none runs. O(1), worst: O(running). */
sl_request *sli_core_victim(const sli_core *core);

/* Requests waiting in its own queue and in the shared one. */
static inline int64_t sli_core_waiting(const sli_core *core) {
    return core->queue.count + core->shared->count;
}

#endif
