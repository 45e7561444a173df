#include "engine/jump.h"

#include "base/minmax.h"
#include "engine/plan.h"
#include "engine/step.h"
#include "kernel/time.h"

/* Steps from the first one on before a member finishes, is due, or the promise ends. */
static int64_t steps_allowed(const sli_jump *jump, const sli_core *core) {
    if (!core->state.only_decodes || core->first_loose != NULL) {
        return 1;
    }
    int64_t steps = sli_min_i64(jump->limit, core->promise.steps_left < SLI_JUMP_STEPS_MAX
                                                 ? core->promise.steps_left + 1
                                                 : SLI_JUMP_STEPS_MAX);
    steps = sli_min_i64(steps, sli_lockstep_steps_to_due(&core->lockstep));
    return sli_min_i64(steps, sli_lockstep_steps_to_finish(&core->lockstep));
}

/* Whether so many steps cannot run short, whoever needs blocks when: without windows nobody needs
 * one more often than it fills one. */
static bool has_plenty(const sli_core *core, int64_t steps) {
    const sli_lockstep *lockstep = &core->lockstep;
    int64_t most_blocks = lockstep->count * (1 + steps / lockstep->block_tokens);
    return !lockstep->has_stairs && most_blocks * lockstep->block_pages <= core->pool.free_blocks;
}

/* The first step's blocks are taken already; the others must find theirs free, among them what
 * windows leave behind at the end of the step before, which may be room for who waits. */
static int64_t steps_with_blocks(const sli_core *core, int64_t steps) {
    const sli_lockstep *lockstep = &core->lockstep;
    bool may_admit = core->pool.window_count > 0 && sli_core_waiting(core) > 0;
    int64_t free_blocks = core->pool.free_blocks;
    if (has_plenty(core, steps)) {
        return steps;
    }
    for (int64_t i = 1; i < steps; i++) {
        if (!sli_lockstep_is_quiet(lockstep, i)) {
            return i;
        }
        int64_t need_blocks = sli_lockstep_need(lockstep, i);
        free_blocks += sli_lockstep_passed(lockstep, i - 1);
        bool is_short = free_blocks < need_blocks;
        if (is_short || (may_admit && sli_core_may_admit(core, free_blocks, need_blocks > 0))) {
            return i;
        }
        free_blocks -= need_blocks;
    }
    return steps;
}

/* One token more for each row. */
static void grow_shape(sl_batch_shape *shape, const sli_lockstep *lockstep, int64_t ahead) {
    shape->decode_kv_tokens += shape->decodes;
    shape->decode_kv_max++;
    for (int g = 0; g < lockstep->rows_count; g++) {
        shape->decode_visible[g] += sli_lockstep_visible_growth(lockstep, g, ahead);
    }
}

/* The step i, behind the first, with nothing in it but the lockstep. */
static void time_step(const sl_cost_model *model, const sl_batch_shape *shape, sli_jump *jump,
                      int64_t i) {
    model->ops->step(model->self, shape, &jump->costs[i]);
    jump->end_ns[i] = sli_time_add(jump->end_ns[i - 1], jump->costs[i].total_ns);
}

void sli_jump_begin(sli_jump *jump, sli_core *core, const sl_cost_model *model, int64_t now_ns) {
    sli_step_shape shape;
    sl_step_cost cost;
    sli_core_shape(core, &shape);
    sli_core_cost(core, model, &shape, &cost, &jump->decode_own);
    core->state.prefill_tokens = shape.whole.prefill_tokens;
    jump->limit = jump->limit > 0 ? jump->limit : 4;
    jump->count = steps_with_blocks(core, steps_allowed(jump, core));
    jump->committed = 0;
    jump->taken = 1;
    jump->start_ns = now_ns;
    jump->end_ns[0] = sli_time_add(now_ns, cost.total_ns);
    for (int64_t i = 1; i < jump->count; i++) {
        grow_shape(&shape.whole, &core->lockstep, i - 1);
        time_step(model, &shape.whole, jump, i);
    }
}

int64_t sli_jump_end(const sli_jump *jump) {
    return jump->end_ns[jump->count - 1];
}

/* ---- Committing ---- */

static void take_blocks(sli_jump *jump, sli_core *core) {
    if (jump->taken == jump->committed) {
        sli_pool_take(&core->pool, sli_lockstep_need(&core->lockstep, 0));
        jump->taken++;
    }
}

/* Steps come up one by one and in order, each once. */
static const sli_own *own_of_step(sli_jump *jump, int64_t step) {
    if (step > 0) {
        sli_own_split(&jump->costs[step], jump->costs[step].total_ns, &jump->decode_own);
    }
    return &jump->decode_own;
}

static int64_t step_start(const sli_jump *jump, int64_t step) {
    return step > 0 ? jump->end_ns[step - 1] : jump->start_ns;
}

static void report(const sli_jump *jump, const sli_core *core) {
    int64_t step = jump->committed;
    const sli_plan_state *state = &core->state;
    sli_world_step(core->world, &(sl_step_record){
                                    .start_ns = step_start(jump, step),
                                    .end_ns = jump->end_ns[step],
                                    .replica = core->index,
                                    .tokens = state->planned_tokens,
                                    .prefill_tokens = state->prefill_tokens,
                                    .sequences = state->planned_requests,
                                    .running = core->running,
                                    .held_blocks = sli_pool_held_blocks(&core->pool),
                                    .cached_blocks = core->pool.cached_blocks,
                                    .pool_blocks = core->pool.config.block_count,
                                });
}

void sli_jump_commit(sli_jump *jump, sli_core *core, int64_t until_ns) {
    while (jump->committed < jump->count - 1 && jump->end_ns[jump->committed] <= until_ns) {
        take_blocks(jump, core);
        report(jump, core);
        int64_t passed_blocks = sli_lockstep_passed(&core->lockstep, 0);
        sli_lockstep_advance(&core->lockstep, core->world, jump->end_ns[jump->committed],
                             own_of_step(jump, jump->committed));
        if (passed_blocks > 0) {
            sli_pool_give_blank(&core->pool, passed_blocks);
        }
        core->stalled_steps = 0;
        jump->committed++;
    }
}

bool sli_jump_cut(sli_jump *jump, sli_core *core, int64_t now_ns, bool has_planned_now) {
    sli_jump_commit(jump, core, now_ns);
    int64_t next_start_ns = step_start(jump, jump->committed);
    bool is_in_flight = jump->committed == 0 || next_start_ns < now_ns || has_planned_now;
    jump->count = jump->committed + is_in_flight;
    jump->limit = jump->count > 2 ? jump->count : 2;
    if (is_in_flight) {
        take_blocks(jump, core);
    } else {
        core->promise.steps_left -= jump->committed - 1;
    }
    return is_in_flight;
}

const sli_own *sli_jump_finish(sli_jump *jump, sli_core *core) {
    sli_jump_commit(jump, core, SLI_NEVER);
    take_blocks(jump, core);
    report(jump, core);
    core->promise.steps_left -= jump->count - 1;
    bool is_used_up = jump->count == jump->limit;
    if (is_used_up && jump->limit < SLI_JUMP_STEPS_MAX) {
        jump->limit *= 2;
    }
    return own_of_step(jump, jump->count - 1);
}
