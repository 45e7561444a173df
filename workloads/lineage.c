#include "workloads/lineage.h"

#include <inttypes.h>
#include <stdio.h>

/*
 * The parent of an id is the number of an entry (fewer than 2^32) or, for one that begins prompts,
 * this bit with the tokens of a block.
 */
#define BEGINS (UINT64_C(1) << 63)

void sli_lineage_fini(sli_lineage *lineage) {
    sli_map_fini(&lineage->parents);
}

static uint64_t entry_of(const sli_map *map, const uint64_t *value) {
    const void *entry = (const char *)value - offsetof(sli_map_entry, value);
    return (uint64_t)((const sli_map_entry *)entry - map->entries);
}

sl_err sli_lineage_add(sli_lineage *lineage, const uint64_t *ids, size_t count,
                       int64_t block_tokens, size_t *agreeing_count) {
    sli_map *map = &lineage->parents;
    uint64_t parent = BEGINS | (uint64_t)block_tokens;
    size_t agreeing = 0;
    for (; agreeing < count; agreeing++) {
        uint64_t *value = NULL;
        bool is_new = false;
        SL_TRY(sli_map_put(map, ids[agreeing], parent, &value, &is_new));
        if (*value != parent) {
            break;
        }
        parent = entry_of(map, value);
    }
    *agreeing_count = agreeing;
    return SL_OK;
}

void sli_lineage_describe(const sli_lineage *lineage, const uint64_t *ids, size_t place,
                          int64_t block_tokens, char *text, size_t size) {
    const sli_map *map = &lineage->parents;
    const uint64_t *value = sli_map_find(map, ids[place]);
    char here[64] = "begins a prompt";
    char elsewhere[64] = "begins a prompt";
    bool began = value != NULL && (*value & BEGINS) != 0;
    if (place > 0) {
        snprintf(here, sizeof here, "follows id %" PRIu64, ids[place - 1]);
    } else if (began) {
        snprintf(here, sizeof here, "stands for %" PRId64 " tokens", block_tokens);
        snprintf(elsewhere, sizeof elsewhere, "for %" PRIu64, *value & ~BEGINS);
    }
    if (value != NULL && !began) {
        snprintf(elsewhere, sizeof elsewhere, "follows id %" PRIu64, map->entries[*value].key);
    }
    snprintf(text, size, "id %" PRIu64 " %s here and %s elsewhere", ids[place], here, elsewhere);
}
