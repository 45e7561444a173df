/*
 * Shuffles and votes between the lanes of a warp, with CUDA's results.
 *
 * A lane that reads from a lane outside the mask gets an undefined value on a device, so here it is
 * a fault. Values are of any type of 4 to 16 bytes that can be copied as it is. Neither orders
 * memory.
 */
#ifndef KREF_EMULATION_WARP_H
#define KREF_EMULATION_WARP_H

#include "emulation/machine.h"

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace kref::emulation {

enum class shuffle_kind { from_lane, from_below, from_above, crossed };

struct shuffle_slot {
    shuffle_kind kind;
    unsigned operand; /* lane, distance or pattern */
    unsigned width;   /* lanes in a group that keeps to itself: a power of two */
    unsigned words;
    uint32_t in[4];
    uint32_t out[4];
    bool is_undefined; /* out: the source was not in the mask */
};

/* Meets; checks what came out. */
void shuffle_words(shuffle_slot *slot, unsigned mask, place where);

unsigned ballot(unsigned mask, bool vote, place where);

/* Lanes and distances are signed or not, as CUDA has them. */
template <typename Value, typename Operand>
Value shuffle(shuffle_kind kind, place where, unsigned mask, Value value, Operand operand,
              int width = static_cast<int>(warp_lanes)) {
    static_assert(std::is_trivially_copyable_v<Value> && sizeof(Value) % 4 == 0 &&
                  sizeof(Value) <= 16);
    shuffle_slot slot = {};
    slot.kind = kind;
    slot.operand = static_cast<unsigned>(operand);
    slot.width = static_cast<unsigned>(width);
    slot.words = sizeof(Value) / 4;
    memcpy(slot.in, &value, sizeof value);
    shuffle_words(&slot, mask, where);
    memcpy(&value, slot.out, sizeof value);
    return value;
}

} // namespace kref::emulation

#endif
