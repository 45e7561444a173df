/*
 * No mixer or no feed-forward: for models that count each of them as a layer (Nemotron-H), or lack
 * one (Mamba).
 */
#include "model/kinds.h"

static void describe_none(const void *values, int64_t hidden, sli_part_facts *facts) {
    (void)values;
    (void)hidden;
    (void)facts;
}

const sli_layer_kind sli_none_kind = {
    .name = "none",
    .help = "nothing",
    .describe = describe_none,
};
