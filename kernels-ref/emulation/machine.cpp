#include "emulation/machine.h"

#include "emulation/count.h"
#include "emulation/report.h"
#include "emulation/sanitizer.h"
#include "emulation/shared.h"
#include "emulation/thread.h"

#include <cstdarg>
#include <cstdio>
#include <memory>
#include <numeric>

namespace kref::emulation {

namespace {

struct machine {
    settings set;
    uint64_t random = 1;

    /* The run. */
    const char *kernel = "";
    void (*body)(const void *arguments) = nullptr;
    const void *arguments = nullptr;
    coordinates extents; /* of grid and block; its thread and block are not used */
    report trouble = {};

    /* The block that runs. */
    std::vector<std::unique_ptr<thread>> threads; /* kept from block to block, with their stacks */
    unsigned thread_count = 0;
    warp warps[block_threads_max / warp_lanes];
    unsigned warp_count = 0;
    unsigned runnable_warps = 0;
    unsigned left = 0;
    unsigned at_barrier = 0;
    thread *barrier_first = nullptr; /* of those who wait */
    char barrier_edges[2] = {};
    unsigned barrier_turn = 0;
    /* Two, so that a thread that begins late does not come after one that has left early. */
    char begin_edge = 0;
    char end_edge = 0;

    fiber program;
    thread *current = nullptr;
};

machine host;

uint64_t draw() {
    /* xorshift64: Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8(14), 2003 */
    host.random ^= host.random << 13;
    host.random ^= host.random >> 7;
    host.random ^= host.random << 17;
    return host.random;
}

/* ---- Who goes on ---- */

/* The first set bit from `start` on, around the end. `bits` is not 0. */
unsigned first_from(unsigned bits, unsigned start) {
    unsigned ahead = bits & (~0U << (start & 31U));
    return static_cast<unsigned>(__builtin_ctz(ahead != 0 ? ahead : bits));
}

/* The same downwards. */
unsigned first_below(unsigned bits, unsigned start) {
    unsigned below = bits & (~0U >> (31U - (start & 31U)));
    return 31U - static_cast<unsigned>(__builtin_clz(below != 0 ? below : bits));
}

unsigned choose_bit(unsigned bits, unsigned after) {
    switch (host.set.lanes_and_blocks) {
    case order::forward:
        return first_from(bits, after + 1);
    case order::reverse:
        return first_below(bits, after + 31);
    case order::random:
        break;
    }
    return first_from(bits, static_cast<unsigned>(draw()));
}

/* Lanes of a warp run in turn, then those of the next warp; at random, each may be next. */
thread *choose_next(const thread *after) {
    unsigned last_warp = static_cast<unsigned>(after->own_warp - host.warps);
    if (host.runnable_warps == 0) {
        return nullptr;
    }
    bool stays = after->own_warp->runnable != 0 && host.set.lanes_and_blocks != order::random;
    unsigned chosen = stays ? last_warp : choose_bit(host.runnable_warps, last_warp);
    unsigned last_lane = chosen == last_warp ? after->lane : 31;
    if (chosen != last_warp && host.set.lanes_and_blocks == order::reverse) {
        last_lane = 0;
    }
    warp *its = &host.warps[chosen];
    return its->lanes[choose_bit(its->runnable, last_lane)];
}

thread *choose_first() {
    switch (host.set.lanes_and_blocks) {
    case order::forward:
        return host.threads[0].get();
    case order::reverse:
        return host.threads[host.thread_count - 1].get();
    case order::random:
        break;
    }
    return host.threads[draw() % host.thread_count].get();
}

void set_state(thread *it, state now) {
    warp *its = it->own_warp;
    unsigned bit = 1U << it->lane;
    it->now = now;
    its->runnable = now == state::can_run ? its->runnable | bit : its->runnable & ~bit;
    its->in_meeting = now == state::in_meeting ? its->in_meeting | bit : its->in_meeting & ~bit;
    unsigned warp_bit = 1U << (its - host.warps);
    host.runnable_warps = its->runnable != 0 ? host.runnable_warps | warp_bit
                                             : host.runnable_warps & ~warp_bit;
}

/* The run is over, for a reason that is in `trouble`. Fibers are abandoned where they stand, so
 * nothing on their stacks may own memory. */
void end_run() {
    host.current->stack.switch_to(host.program);
}

void end_in_deadlock() {
    const thread *waiting[block_threads_max];
    unsigned count = 0;
    for (unsigned i = 0; i < host.thread_count; i++) {
        if (host.threads[i]->now != state::has_left) {
            waiting[count++] = host.threads[i].get();
        }
    }
    describe_deadlock(host.kernel, waiting, count, &host.trouble);
    end_run();
}

/* Leaves the current thread as it is and runs another. */
void yield_to_next() {
    thread *self = host.current;
    thread *next = choose_next(self);
    if (next == nullptr) {
        end_in_deadlock();
    }
    host.current = next;
    self->stack.switch_to(next->stack);
}

/* ---- The life of a thread ---- */

[[noreturn]] void leave() {
    thread *self = host.current;
    if (self->copies_done < self->copies.size()) {
        const copy &first = self->copies[self->copies_done];
        fault(first.where, "the thread leaves and has not waited for this copy");
    }
    if (host.at_barrier > 0) {
        fault(host.barrier_first->waits_at,
              "not all threads come here: this one leaves while %u wait", host.at_barrier);
    }
    for (unsigned other = 0; other < warp_lanes; other++) {
        const thread *its = self->own_warp->lanes[other];
        if (its != nullptr && its->now == state::in_meeting &&
            (its->published.mask & (1U << self->lane)) != 0) {
            fault(its->waits_at, "not all lanes come here: this one leaves while lane %u waits",
                  other);
        }
    }
    set_state(self, state::has_left);
    self->own_warp->left |= 1U << self->lane;
    host.left++;
    release(&host.end_edge);
    thread *next = choose_next(self);
    if (next == nullptr && host.left < host.thread_count) {
        end_in_deadlock();
    }
    host.current = next;
    self->stack.finish_into(next != nullptr ? next->stack : host.program);
}

void enter() {
    acquire(&host.begin_edge);
    host.body(host.arguments);
    leave();
}

dim3 coordinates_of(uint64_t number, dim3 extent) {
    return dim3{static_cast<unsigned>(number % extent.x),
                static_cast<unsigned>(number / extent.x % extent.y),
                static_cast<unsigned>(number / extent.x / extent.y)};
}

void start_thread(unsigned number, dim3 block) {
    if (number == host.threads.size()) {
        host.threads.push_back(std::make_unique<thread>());
    }
    thread *it = host.threads[number].get();
    it->where = host.extents;
    it->where.block = block;
    it->where.thread = coordinates_of(number, host.extents.block_extent);
    it->number = number;
    it->lane = number % warp_lanes;
    it->own_warp = &host.warps[number / warp_lanes];
    it->own_warp->lanes[it->lane] = it;
    it->own_warp->existing |= 1U << it->lane;
    it->copies.clear();
    it->group_ends.clear();
    it->copies_done = 0;
    it->stack.start(enter);
    set_state(it, state::can_run);
}

void run_block(dim3 block, size_t shared_bytes) {
    host.warp_count = (host.thread_count + warp_lanes - 1) / warp_lanes;
    for (unsigned i = 0; i < host.warp_count; i++) {
        host.warps[i] = warp{};
    }
    host.runnable_warps = 0;
    host.left = 0;
    host.at_barrier = 0;
    lay_out_shared(shared_bytes);
    for (unsigned i = 0; i < host.thread_count; i++) {
        start_thread(i, block);
    }
    host.current = choose_first();
    release(&host.begin_edge);
    host.program.switch_to(host.current->stack);
    for (unsigned i = 0; i < host.thread_count && host.left < host.thread_count; i++) {
        host.threads[i]->stack.release_abandoned(&host.end_edge);
    }
    acquire(&host.end_edge);
}

/* The order of blocks: a walk by a step that has no factor in common with their number. */
uint64_t block_at(uint64_t turn, uint64_t count) {
    switch (host.set.lanes_and_blocks) {
    case order::forward:
        return turn;
    case order::reverse:
        return count - 1 - turn;
    case order::random:
        break;
    }
    uint64_t step = host.set.seed * 2654435761ULL % count;
    while (std::gcd(step, count) != 1) {
        step++;
    }
    return (turn * step + host.set.seed) % count;
}

bool refuses(dim3 grid, dim3 block, size_t shared_bytes) {
    uint64_t threads = uint64_t{block.x} * block.y * block.z;
    char text[200] = "";
    if (threads == 0 || threads > block_threads_max) {
        snprintf(text, sizeof text, "%llu threads a block, expected 1 to %u",
                 static_cast<unsigned long long>(threads), block_threads_max);
    } else if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.y > 65535 || grid.z > 65535) {
        snprintf(text, sizeof text,
                 "a grid of %u x %u x %u, expected at least 1, and at most "
                 "65535 along y and z",
                 grid.x, grid.y, grid.z);
    } else if (shared_bytes > shared_max_bytes) {
        snprintf(text, sizeof text, "%zu bytes of shared memory, expected at most %zu",
                 shared_bytes, shared_max_bytes);
    }
    if (text[0] != '\0') {
        host.trouble.add("%s: %s", host.kernel, text);
    }
    return !host.trouble.is_empty();
}

} // namespace

settings &current_settings() {
    return host.set;
}

const char *run(const char *kernel, dim3 grid, dim3 block, size_t shared_bytes,
                void (*body)(const void *arguments), const void *arguments) {
    host.kernel = kernel;
    host.body = body;
    host.arguments = arguments;
    host.trouble = {};
    host.random = host.set.seed * 0x9e3779b97f4a7c15ULL | 1;
    if (refuses(grid, block, shared_bytes)) {
        return host.trouble.text;
    }
    host.extents.block_extent = block;
    host.extents.grid_extent = grid;
    host.thread_count = block.x * block.y * block.z;
    uint64_t blocks = uint64_t{grid.x} * grid.y * grid.z;
    for (uint64_t turn = 0; turn < blocks && host.trouble.is_empty(); turn++) {
        run_block(coordinates_of(block_at(turn, blocks), grid), shared_bytes);
    }
    return host.trouble.is_empty() ? nullptr : host.trouble.text;
}

const coordinates &here() {
    return host.current->where;
}

unsigned lane() {
    return host.current->lane;
}

unsigned warp_number() {
    return static_cast<unsigned>(host.current->own_warp - host.warps);
}

void fault(place where, const char *format, ...) {
    char text[300];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    describe_fault(host.kernel, *host.current, where, text, &host.trouble);
    end_run();
    __builtin_unreachable();
}

/* ---- Barriers and meetings ---- */

void barrier(place where) {
    thread *self = host.current;
    unsigned turn = host.barrier_turn;
    if (host.left > 0) {
        fault(where, "not all threads come here: %u of %u have left", host.left, host.thread_count);
    }
    if (host.at_barrier > 0 && !(host.barrier_first->waits_at == where)) {
        place other = host.barrier_first->waits_at;
        fault(where, "others of the block wait at another barrier, %s:%d", base_name(other.file),
              other.line);
    }
    release(&host.barrier_edges[turn]);
    self->waits_at = where;
    if (host.at_barrier == 0) {
        host.barrier_first = self;
    }
    if (++host.at_barrier < host.thread_count) {
        set_state(self, state::at_barrier);
        yield_to_next();
    } else {
        host.at_barrier = 0;
        host.barrier_turn = 1 - turn;
        for (unsigned i = 0; i < host.thread_count; i++) {
            set_state(host.threads[i].get(), state::can_run);
        }
    }
    acquire(&host.barrier_edges[turn]);
}

namespace {

void check_mask(const meeting &mine, const thread &self) {
    const warp &its = *self.own_warp;
    if ((mine.mask & (1U << self.lane)) == 0) {
        fault(mine.where, "lane %u is not in its own mask %08x", self.lane, mine.mask);
    }
    if ((mine.mask & ~its.existing) != 0) {
        fault(mine.where, "mask %08x names lanes that the warp does not have: it has %08x",
              mine.mask, its.existing);
    }
    if ((mine.mask & its.left) != 0) {
        fault(mine.where, "not all lanes come here: of mask %08x have left %08x", mine.mask,
              mine.mask & its.left);
    }
}

/* All lanes of the mask have arrived; they must mean the same meeting. */
void check_agreement(const meeting &mine, const warp &its) {
    for (unsigned other = 0; other < warp_lanes; other++) {
        if ((mine.mask & (1U << other)) == 0) {
            continue;
        }
        const meeting &theirs = its.lanes[other]->published;
        if (theirs.mask != mine.mask || !(theirs.where == mine.where)) {
            fault(mine.where, "mask %08x, but lane %u waits in %s with mask %08x at %s:%d",
                  mine.mask, other, theirs.where.what, theirs.mask, base_name(theirs.where.file),
                  theirs.where.line);
        }
    }
}

void complete_for_all(const meeting &mine, const warp &its) {
    void *slots[warp_lanes];
    for (unsigned other = 0; other < warp_lanes; other++) {
        bool is_in = (mine.mask & (1U << other)) != 0;
        slots[other] = is_in ? its.lanes[other]->published.slot : nullptr;
    }
    if (mine.complete != nullptr) {
        unobserved all;
        mine.complete(slots, mine.mask);
    }
}

} // namespace

void meet(const meeting &mine) {
    thread *self = host.current;
    warp *its = self->own_warp;
    check_mask(mine, *self);
    self->published = mine;
    self->waits_at = mine.where;
    set_state(self, state::in_meeting);
    if ((its->in_meeting & mine.mask) != mine.mask) {
        yield_to_next();
        return;
    }
    check_agreement(mine, *its);
    complete_for_all(mine, *its);
    for (unsigned other = 0; other < warp_lanes; other++) {
        if ((mine.mask & (1U << other)) != 0) {
            set_state(its->lanes[other], state::can_run);
        }
    }
}

void sync_warp(unsigned mask, place where) {
    warp *its = host.current->own_warp;
    unsigned lowest = mask != 0 ? static_cast<unsigned>(__builtin_ctz(mask)) : 0;
    unsigned turn = its->turns[lowest];
    release(&its->edges[lowest][turn % 4]);
    meet(meeting{where, mask, nullptr, nullptr});
    /* The first to come out turns the page. */
    if (its->turns[lowest] == turn) {
        its->turns[lowest] = turn + 1;
    }
    acquire(&its->edges[lowest][turn % 4]);
}

/* ---- Asynchronous copies ---- */

void note_copy(const copy &copy) {
    host.current->copies.push_back(copy);
    count_copied(copy.from, copy.bytes);
}

void close_group() {
    thread *self = host.current;
    self->group_ends.push_back(self->copies.size());
}

bool next_due_copy(int kept, copy *due) {
    thread *self = host.current;
    size_t groups = self->group_ends.size();
    size_t latest = static_cast<size_t>(kept);
    size_t end = groups > latest ? self->group_ends[groups - latest - 1] : 0;
    if (self->copies_done >= end) {
        return false;
    }
    *due = self->copies[self->copies_done++];
    return true;
}

} // namespace kref::emulation
