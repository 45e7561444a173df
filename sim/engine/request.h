/*
 * A request in the system: what it wants, how far it has come, and its one record.
 *
 * Floor engine. Created at arrival, destroyed with its terminal record. Belongs to one list at a
 * time (a queue or a running list); its context holds blocks only while it runs. While it decodes
 * in lockstep with others (engine/lockstep.h) nothing of it is written: its figures are those of
 * the moment when it joined, and the steps since then are added when it leaves.
 */
#ifndef SLUICE_ENGINE_REQUEST_H
#define SLUICE_ENGINE_REQUEST_H

#include "engine/attribution.h"
#include "engine/heap.h"
#include "engine/world.h"
#include "kv/context.h"
#include "sluice/policy.h"
#include "sluice/workload.h"

typedef enum sli_request_state {
    SLI_REQUEST_WAITING,
    SLI_REQUEST_RUNNING,
} sli_request_state;

struct sl_request {
    sl_request *previous; /* in its list */
    sl_request *next;
    sl_request *previous_loose; /* running, but not in lockstep */
    sl_request *next_loose;
    struct sli_queue *home; /* the queue that it waits in, or returns to when preempted */
    uint64_t id;
    uint64_t arrival_order; /* over the whole cluster */
    uint64_t admit_order;   /* of the replica: the running list is sorted by it */
    sl_request_desc desc;
    sli_content_view content;
    sli_context context;
    sli_request_state state;
    bool is_cancelled; /* to be aborted when the step in flight ends */
    bool is_in_lockstep;
    bool asks_for_blocks; /* in lockstep, as it grows: settled when it joins */
    bool is_due;          /* in lockstep: its windows hold blocks that others may find */
    int64_t joined_step;  /* of the lockstep, when it joined */
    size_t heap_places[SLI_HEAP_KIND_COUNT];
    sl_phase phase;
    int64_t phase_since_ns;
    int64_t known_tokens;    /* prompt and generated */
    int64_t computed_tokens; /* whose KV exists */
    int64_t planned_tokens;  /* taken in the plan that is being made or in flight */
    int64_t furthest_tokens; /* most that was ever computed: below it, work is repeated */
    int64_t previous_token_ns;
    sli_own own;        /* so far; without the steps in lockstep since it joined */
    sli_own joined_own; /* of the lockstep, when it joined */
    sli_own step_own;   /* of the step in flight, if it is loose and in it */
    sl_request_record record;
};

SL_NODISCARD sl_err sli_request_create(uint64_t id, uint64_t arrival_order,
                                       const sl_request_desc *desc, int64_t now_ns,
                                       sl_request **request);

/* Its context must hold nothing. */
void sli_request_destroy(sl_request *request);

/* Known tokens that are neither computed nor planned; of a loose request. */
int64_t sli_request_pending(const sl_request *request);

/* Decoding: at least one token is out and only the last known one is not computed; of a loose
 * request (one in lockstep is always decoding). */
bool sli_request_is_decoding(const sl_request *request);

/* Tokens that it will ever hold at once: the last one takes no slot. */
int64_t sli_request_final_tokens(const sl_request_desc *desc);

/* Books the time since the last change on the phase that it leaves. */
void sli_request_enter(sl_request *request, sl_phase phase, int64_t now_ns);

/* Emits a transition of this request. */
void sli_request_report(const sl_request *request, const sli_world *world, sl_transition_kind kind,
                        uint32_t replica, int64_t tokens);

/* Closes the record, tells the probes; the request still exists. */
void sli_request_end(sl_request *request, const sli_world *world, sl_outcome outcome,
                     uint32_t replica);

#endif
