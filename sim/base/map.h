/*
 * A hash map from uint64_t to uint64_t that iterates in order of insertion.
 *
 * Floor base. Zeroed is valid and empty. Insert and find are amortised O(1); iteration is over
 * entries[0 .. count). There is no removal: who needs it keeps a structure of his own.
 */
#ifndef SLUICE_BASE_MAP_H
#define SLUICE_BASE_MAP_H

#include "sluice/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sli_map_entry {
    uint64_t key;
    uint64_t value;
} sli_map_entry;

typedef struct sli_map {
    sli_map_entry *entries; /* in order of insertion */
    size_t count;
    size_t capacity;
    uint32_t *slots;   /* entry index + 1; 0 = empty */
    size_t slot_count; /* a power of two */
} sli_map;

void sli_map_fini(sli_map *map);

/* A pointer to the value of a key, or NULL; valid until the next insertion. */
uint64_t *sli_map_find(const sli_map *map, uint64_t key);

/* Finds the key or inserts it with `value`; *slot points to its value, *is_new says which. */
SL_NODISCARD sl_err sli_map_put(sli_map *map, uint64_t key, uint64_t value, uint64_t **slot,
                                bool *is_new);

#endif
