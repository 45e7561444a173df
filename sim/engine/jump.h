/*
 * A jump: steps of pure decoding that nothing can disturb, planned in one go.
 *
 * Floor engine. After a plan that the policy promised to repeat, the times of the next steps are
 * computed without asking or touching anybody, up to the next finish, shortage of blocks or end of
 * the promise. Nothing changes until a step is committed, so a disturbance just cuts the jump
 * short. Bit-identical to planning the steps one by one.
 */
#ifndef SLUICE_ENGINE_JUMP_H
#define SLUICE_ENGINE_JUMP_H

#include "engine/core.h"
#include "sluice/cost.h"

enum { SLI_JUMP_STEPS_MAX = 256 };

typedef struct sli_jump {
    int64_t count;     /* steps planned; the last is the one whose end is an event; 0 = none */
    int64_t committed; /* of them; those before count - 1 */
    int64_t taken;     /* steps whose blocks are taken: committed and in flight */
    int64_t limit; /* most steps worth planning: doubles when a jump is used up, shrinks on cuts */
    int64_t start_ns;
    int64_t end_ns[SLI_JUMP_STEPS_MAX];
    /* What each step but the first costs; split by cause only when it is committed. */
    sl_step_cost costs[SLI_JUMP_STEPS_MAX];
    sli_own decode_own; /* of a decode row in the step that is committed next */
} sli_jump;

/* The plan of the first step stands in the core. O(steps planned). */
void sli_jump_begin(sli_jump *jump, sli_core *core, const sl_cost_model *model, int64_t now_ns);

/* The end of the last step. */
int64_t sli_jump_end(const sli_jump *jump);

/* Commits the steps but the last that end at or before a time; tells the probes. O(steps). */
void sli_jump_commit(sli_jump *jump, sli_core *core, int64_t until_ns);

/*
 * Drops the steps behind the one in flight. False if none is: the one before ends now and the next
 * would be planned now, which has not happened yet unless has_planned_now.
 */
bool sli_jump_cut(sli_jump *jump, sli_core *core, int64_t now_ns, bool has_planned_now);

/* The last step is over: takes its blocks and tells the probes; the core still has to advance, with
 * the own time of a decode row that is answered. */
const sli_own *sli_jump_finish(sli_jump *jump, sli_core *core);

#endif
