#include "base/map.h"

#include "base/grow.h"

#include <stdlib.h>

enum { MIN_SLOTS = 16 };

void sli_map_fini(sli_map *map) {
    free(map->entries);
    free(map->slots);
    *map = (sli_map){0};
}

/* The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): every bit of a key counts. */
static uint64_t scatter(uint64_t key) {
    key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9u;
    key = (key ^ (key >> 27)) * 0x94d049bb133111ebu;
    return key ^ (key >> 31);
}

/* The slot that holds the key, or the empty one where it would go. There is always an empty one. */
static size_t probe(const sli_map *map, uint64_t key) {
    size_t mask = map->slot_count - 1;
    size_t place = (size_t)scatter(key) & mask;
    while (map->slots[place] != 0 && map->entries[map->slots[place] - 1].key != key) {
        place = (place + 1) & mask;
    }
    return place;
}

uint64_t *sli_map_find(const sli_map *map, uint64_t key) {
    if (map->count == 0) {
        return NULL;
    }
    uint32_t found = map->slots[probe(map, key)];
    return found != 0 ? &map->entries[found - 1].value : NULL;
}

/* Doubles the table of slots when one more entry would leave it more than half full. */
static sl_err make_room(sli_map *map) {
    if (map->count + 1 <= map->slot_count / 2) {
        return SL_OK;
    }
    size_t slot_count = map->slot_count < MIN_SLOTS ? MIN_SLOTS : 2 * map->slot_count;
    uint32_t *slots = calloc(slot_count, sizeof *slots);
    if (slots == NULL) {
        return SL_ERR_NOMEM;
    }
    free(map->slots);
    map->slots = slots;
    map->slot_count = slot_count;
    for (size_t i = 0; i < map->count; i++) {
        map->slots[probe(map, map->entries[i].key)] = (uint32_t)(i + 1);
    }
    return SL_OK;
}

sl_err sli_map_put(sli_map *map, uint64_t key, uint64_t value, uint64_t **slot, bool *is_new) {
    uint64_t *found = sli_map_find(map, key);
    if (found != NULL) {
        *slot = found;
        *is_new = false;
        return SL_OK;
    }
    if (map->count >= UINT32_MAX) {
        return SL_ERR_NOMEM;
    }
    SL_TRY(sli_grow(&map->entries, &map->capacity, map->count + 1, sizeof *map->entries));
    SL_TRY(make_room(map));
    map->entries[map->count] = (sli_map_entry){.key = key, .value = value};
    map->slots[probe(map, key)] = (uint32_t)(map->count + 1);
    *slot = &map->entries[map->count].value;
    *is_new = true;
    map->count++;
    return SL_OK;
}
