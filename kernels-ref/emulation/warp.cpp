#include "emulation/warp.h"

namespace kref::emulation {

namespace {

/* The lane that `lane` reads from: itself where CUDA says that the value stays. */
unsigned source_of(const shuffle_slot &slot, unsigned lane) {
    unsigned first = lane & ~(slot.width - 1); /* of the group */
    unsigned last = first + slot.width - 1;
    switch (slot.kind) {
    case shuffle_kind::from_lane:
        return first + (slot.operand & (slot.width - 1));
    case shuffle_kind::from_below:
        return slot.operand <= lane - first ? lane - slot.operand : lane;
    case shuffle_kind::from_above:
        return slot.operand <= last - lane ? lane + slot.operand : lane;
    case shuffle_kind::crossed:
        break;
    }
    /* A group may read from itself and from those below it. */
    unsigned other = lane ^ slot.operand;
    return other <= last ? other : lane;
}

void exchange(void *const slots[warp_lanes], unsigned mask) {
    for (unsigned lane = 0; lane < warp_lanes; lane++) {
        if ((mask & (1U << lane)) == 0) {
            continue;
        }
        auto *mine = static_cast<shuffle_slot *>(slots[lane]);
        const auto *its = static_cast<const shuffle_slot *>(slots[source_of(*mine, lane)]);
        mine->is_undefined = its == nullptr;
        for (unsigned word = 0; word < mine->words && its != nullptr; word++) {
            mine->out[word] = its->in[word];
        }
    }
}

struct vote_slot {
    bool vote;
    unsigned votes;
};

void count_votes(void *const slots[warp_lanes], unsigned mask) {
    unsigned votes = 0;
    for (unsigned lane = 0; lane < warp_lanes; lane++) {
        if ((mask & (1U << lane)) != 0 && static_cast<const vote_slot *>(slots[lane])->vote) {
            votes |= 1U << lane;
        }
    }
    for (unsigned lane = 0; lane < warp_lanes; lane++) {
        if ((mask & (1U << lane)) != 0) {
            static_cast<vote_slot *>(slots[lane])->votes = votes;
        }
    }
}

} // namespace

void shuffle_words(shuffle_slot *slot, unsigned mask, place where) {
    if (slot->width == 0 || slot->width > warp_lanes || (slot->width & (slot->width - 1)) != 0) {
        fault(where, "width %u, expected a power of two up to %u", slot->width, warp_lanes);
    }
    meet(meeting{where, mask, slot, exchange});
    if (slot->is_undefined) {
        fault(where, "lane %u reads from lane %u, which mask %08x does not name", lane(),
              source_of(*slot, lane()), mask);
    }
}

unsigned ballot(unsigned mask, bool vote, place where) {
    vote_slot slot = {vote, 0};
    meet(meeting{where, mask, &slot, count_votes});
    return slot.votes;
}

} // namespace kref::emulation
