/*
 * Where the arrays of delta_rule_args have what belongs to a head: indices of elements.
 */
#ifndef KREF_CUDA_STATE_PLACE_H
#define KREF_CUDA_STATE_PLACE_H

#include "cuda/delta_rule.h"
#include "cuda/kref.h"

namespace kref {

struct state_place {
    int head;
    int column; /* of the state, so of the values */

    KREF_FUNCTION int64_t head_at(const delta_rule_args &args, int64_t token) const {
        return token * args.heads + head;
    }
    KREF_FUNCTION int64_t key_at(const delta_rule_args &args, int64_t token) const {
        int key_head = head / (args.heads / args.key_heads);
        return (token * args.key_heads + key_head) * args.key_dim;
    }
    KREF_FUNCTION int64_t value_at(const delta_rule_args &args, int64_t token) const {
        return head_at(args, token) * args.value_dim + column;
    }
    KREF_FUNCTION int64_t state_at(const delta_rule_args &args, int64_t slot, int row) const {
        return ((slot * args.heads + head) * args.key_dim + row) * args.value_dim + column;
    }
};

} // namespace kref

#endif
