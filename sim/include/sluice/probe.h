/*
 * What a run tells about itself, while it happens.
 *
 * The engine and the cluster report every transition of a request, every step, every gap between
 * tokens and one terminal record a request; a probe folds them into a digest, metrics, a database
 * or a timeline. A probe only listens: it can never change a result, and results never depend on
 * which probes are attached.
 *
 * All times are simulated, int64_t nanoseconds from the start of the run.
 */
#ifndef SLUICE_PROBE_H
#define SLUICE_PROBE_H

#include "sluice/cost.h"

#include <stdbool.h>
#include <stdint.h>

/* A request is known by (source, index): the source's number and its row, both from 0. */
#define SL_REQUEST_ID(source, index) (((uint64_t)(source) << 48) | (uint64_t)(index))
#define SL_REQUEST_INDEX(id)         ((id) & (((uint64_t)1 << 48) - 1))
#define SL_REQUEST_SOURCE(id)        ((uint32_t)((id) >> 48))

/* The replica of a transition that happened while the request belonged to none. */
#define SL_NO_REPLICA UINT32_MAX

typedef enum sl_transition_kind {
    SL_ARRIVE,  /* tokens: of the prompt; blocks: 0 */
    SL_REJECT,  /* tokens: of the prompt; blocks: 0 */
    SL_ADMIT,   /* tokens: found in the prefix index; blocks: held after the admission */
    SL_FIRST,   /* the first token: tokens: generated (1); blocks: held */
    SL_PREEMPT, /* tokens: whose KV was computed and is given up; blocks: held before */
    SL_FINISH,  /* tokens: generated; blocks: held before the release */
    SL_ABORT,   /* tokens: generated; blocks: held before the release */
} sl_transition_kind;

/* The record that the digest is made of: 40 bytes, no padding. */
typedef struct sl_transition {
    int64_t at_ns;
    uint32_t kind; /* sl_transition_kind */
    uint32_t replica;
    uint64_t request; /* SL_REQUEST_ID */
    int64_t tokens;
    int64_t blocks;
} sl_transition;

_Static_assert(sizeof(sl_transition) == 40, "the digest record has no padding");

/* A request is in exactly one phase at a time, so the parts sum to its latency exactly. */
typedef enum sl_phase {
    SL_PHASE_QUEUED,    /* arrival until the first admission */
    SL_PHASE_PREFILL,   /* admitted, the first token not out yet */
    SL_PHASE_DECODE,    /* between the first and the last token */
    SL_PHASE_PREEMPTED, /* thrown out, waiting to be admitted again */
    SL_PHASE_RECOMPUTE, /* admitted again, computing what it had computed before */
    SL_PHASE_COUNT
} sl_phase;

typedef enum sl_outcome {
    SL_FINISHED,
    SL_REJECTED,
    SL_ABORTED,
    SL_UNFINISHED, /* still in the system when the run stopped */
} sl_outcome;

/* The one terminal record of a request. Times that never came are -1. */
typedef struct sl_request_record {
    uint64_t request;
    uint32_t replica; /* the last one, or SL_NO_REPLICA */
    int32_t priority;
    sl_outcome outcome;
    int64_t arrival_ns;
    int64_t admit_ns;       /* first admission */
    int64_t first_token_ns; /* end of the step that produced it */
    int64_t last_token_ns;
    int64_t end_ns; /* finish, reject or abort */
    int64_t prompt_tokens;
    int64_t output_tokens;     /* asked for */
    int64_t generated_tokens;  /* delivered */
    int64_t hit_tokens;        /* found in the prefix index at the first admission */
    int64_t rehit_tokens;      /* found at later admissions, after preemptions */
    int64_t computed_tokens;   /* all tokens that steps computed for it */
    int64_t recomputed_tokens; /* those among them that had been computed before */
    int64_t preemption_count;
    int64_t phase_ns[SL_PHASE_COUNT]; /* sums to end_ns - arrival_ns */
    /* Its time in the phases prefill, decode and recompute is own time, by cause, and the rest:
     * own_ns and interference_ns sum to it. A decode row's own is the step without prefill chunks,
     * a chunk's own a step with that chunk alone. */
    int64_t own_ns[SL_CAUSE_COUNT];
    int64_t interference_ns;
    /* Until the first token; what is left of the time to it, after these two and the phase queued,
     * is interference. 0 without a first token. */
    int64_t first_own_ns;       /* of all causes */
    int64_t first_preempted_ns; /* of the phase preempted */
} sl_request_record;

/* One executed step of one replica. */
typedef struct sl_step_record {
    int64_t start_ns;
    int64_t end_ns;
    uint32_t replica;
    int64_t tokens;         /* computed in the step */
    int64_t prefill_tokens; /* those of chunks, the rest are decodes */
    int64_t sequences;      /* requests with at least one token in it */
    int64_t running;        /* admitted requests */
    int64_t held_blocks;    /* referenced by running requests */
    int64_t cached_blocks;  /* free, and a lookup can still find their contents */
    int64_t pool_blocks;
} sl_step_record;

/* Hooks may be NULL. Nothing passed outlives the call. */
typedef struct sl_probe_ops {
    void (*transition)(void *self, const sl_transition *transition);
    void (*step)(void *self, const sl_step_record *step);
    /* `count` sequences each emitted a token `gap_ns` after their previous one. */
    void (*gap)(void *self, int64_t gap_ns, int64_t count);
    void (*terminal)(void *self, const sl_request_record *record);
} sl_probe_ops;

typedef struct sl_probe {
    const sl_probe_ops *ops;
    void *self;
} sl_probe;

#endif
