/*
 * The threads, warps and the block of a run, for the files of the emulation alone.
 */
#ifndef KREF_EMULATION_THREAD_H
#define KREF_EMULATION_THREAD_H

#include "emulation/fiber.h"
#include "emulation/machine.h"

#include <vector>

namespace kref::emulation {

struct warp;

enum class state { can_run, at_barrier, in_meeting, has_left };

struct thread {
    fiber stack;
    coordinates where;
    unsigned number = 0; /* in the block */
    unsigned lane = 0;
    warp *own_warp = nullptr;
    state now = state::can_run;
    place waits_at = {};
    meeting published = {};
    /* Copies in the order they were begun; the last of each closed group, as counts. */
    std::vector<copy> copies;
    std::vector<size_t> group_ends;
    size_t copies_done = 0;
};

struct warp {
    thread *lanes[warp_lanes] = {};
    unsigned existing = 0;
    unsigned runnable = 0;
    unsigned left = 0;
    unsigned in_meeting = 0;
    /* What sync_warp's lanes release and acquire: by their lowest lane and the turn, because a fast
     * lane may be at the next sync while a slow one still has to leave the last. */
    char edges[warp_lanes][4] = {};
    unsigned turns[warp_lanes] = {};
};

} // namespace kref::emulation

#endif
