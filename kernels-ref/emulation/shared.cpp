#include "emulation/shared.h"

#include "emulation/count.h"
#include "emulation/machine.h"
#include "emulation/sanitizer.h"

#include <cstdint>

namespace kref::emulation {

namespace {

constexpr size_t slots_max = 32;
constexpr size_t gap_bytes = 64;
constexpr size_t alignment = 128;
constexpr size_t static_arena_bytes = static_shared_max_bytes + slots_max * (gap_bytes + alignment);

struct slot {
    const void *key;
    size_t first;
};

struct shared_memory {
    alignas(alignment) unsigned char arrays[static_arena_bytes];
    alignas(alignment) unsigned char dynamic[shared_max_bytes + gap_bytes];
    slot slots[slots_max];
    size_t slot_count;
    size_t arena_used; /* with gaps */
    size_t static_bytes;
    size_t dynamic_bytes;
};

shared_memory block;

/* By a loop that no compiler turns into a call of memset: ThreadSanitizer would take that for an
 * access of the thread that happens to be the first. */
void poison(unsigned char *first, size_t bytes) {
    permit(first, bytes);
    for (size_t i = 0; i < bytes; i++) {
        static_cast<volatile unsigned char *>(first)[i] = 0xff;
    }
}

size_t round_up(size_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
}

void count_shared() {
    uint64_t bytes = block.static_bytes + block.dynamic_bytes;
    counted.shared_bytes = bytes > counted.shared_bytes ? bytes : counted.shared_bytes;
}

bool lies_in(const void *address, size_t bytes, const unsigned char *first, size_t extent) {
    auto at = reinterpret_cast<uintptr_t>(address);
    auto start = reinterpret_cast<uintptr_t>(first);
    return at >= start && at - start <= extent && extent - (at - start) >= bytes;
}

} // namespace

void lay_out_shared(size_t dynamic_bytes) {
    block.slot_count = 0;
    block.arena_used = 0;
    block.static_bytes = 0;
    block.dynamic_bytes = dynamic_bytes;
    forbid(block.arrays, sizeof block.arrays);
    poison(block.dynamic, dynamic_bytes);
    forbid(block.dynamic + dynamic_bytes, sizeof block.dynamic - dynamic_bytes);
    count_shared();
}

void *dynamic_shared(place where) {
    if (block.dynamic_bytes == 0) {
        fault(where, "the launch gave no dynamic shared memory");
    }
    return block.dynamic;
}

void *static_shared(const void *key, size_t bytes, place where) {
    for (size_t i = 0; i < block.slot_count; i++) {
        if (block.slots[i].key == key) {
            return block.arrays + block.slots[i].first;
        }
    }
    block.static_bytes += bytes;
    if (block.static_bytes > static_shared_max_bytes) {
        fault(where, "%zu bytes of static shared memory with this array, expected at most %zu",
              block.static_bytes, static_shared_max_bytes);
    }
    if (block.static_bytes + block.dynamic_bytes > shared_max_bytes) {
        fault(where, "%zu static and %zu dynamic bytes of shared memory, expected at most %zu",
              block.static_bytes, block.dynamic_bytes, shared_max_bytes);
    }
    if (block.slot_count == slots_max) {
        fault(where, "more than %zu static shared arrays", slots_max);
    }
    size_t first = block.arena_used;
    block.slots[block.slot_count++] = slot{key, first};
    block.arena_used = round_up(first + bytes + gap_bytes);
    poison(block.arrays + first, bytes);
    count_shared();
    return block.arrays + first;
}

bool is_shared(const void *address, size_t bytes) {
    return lies_in(address, bytes, block.dynamic, block.dynamic_bytes) ||
           lies_in(address, bytes, block.arrays, block.arena_used);
}

} // namespace kref::emulation
