#include "engine/world.h"

#include <stdarg.h>
#include <stdio.h>

sl_err sli_world_init(sli_world *world, uint64_t seed, const sl_probe *probes, size_t probe_count) {
    sli_world fresh = {.seed = seed, .probes = probes, .probe_count = probe_count};
    SL_TRY(sli_loop_init(&fresh.loop));
    *world = fresh;
    return SL_OK;
}

void sli_world_fini(sli_world *world) {
    sli_loop_fini(&world->loop);
}

void sli_world_fail(sli_world *world, sl_err fault, const char *format, ...) {
    if (world->fault != SL_OK) {
        return;
    }
    world->fault = fault;
    va_list args;
    va_start(args, format);
    vsnprintf(world->fault_text, sizeof world->fault_text, format, args);
    va_end(args);
    sli_loop_stop(&world->loop);
}

void sli_world_transition(const sli_world *world, const sl_transition *transition) {
    for (size_t i = 0; i < world->probe_count; i++) {
        const sl_probe *probe = &world->probes[i];
        if (probe->ops->transition != NULL) {
            probe->ops->transition(probe->self, transition);
        }
    }
}

void sli_world_step(const sli_world *world, const sl_step_record *step) {
    for (size_t i = 0; i < world->probe_count; i++) {
        const sl_probe *probe = &world->probes[i];
        if (probe->ops->step != NULL) {
            probe->ops->step(probe->self, step);
        }
    }
}

void sli_world_gap(const sli_world *world, int64_t gap_ns, int64_t count) {
    for (size_t i = 0; i < world->probe_count; i++) {
        const sl_probe *probe = &world->probes[i];
        if (probe->ops->gap != NULL) {
            probe->ops->gap(probe->self, gap_ns, count);
        }
    }
}

void sli_world_terminal(const sli_world *world, const sl_request_record *record) {
    for (size_t i = 0; i < world->probe_count; i++) {
        const sl_probe *probe = &world->probes[i];
        if (probe->ops->terminal != NULL) {
            probe->ops->terminal(probe->self, record);
        }
    }
}
