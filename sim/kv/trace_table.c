#include "kv/trace_table.h"

#include "base/check.h"
#include "base/grow.h"
#include "base/map.h"

#include <stdbool.h>
#include <stdlib.h>

/* Every id ever seen has a row, resident or not; row 0 is the sentinel of the recency list. */
typedef struct row {
    uint32_t older;
    uint32_t newer;
    bool is_resident;
    uint64_t pinned_by; /* number of the request that pins it */
} row;

struct sli_trace_table {
    sli_map row_of_id;
    row *rows;
    size_t row_count;
    size_t row_capacity;
    int64_t capacity_ids;
    int64_t resident_ids;
    uint64_t request;
};

sl_err sli_trace_table_create(int64_t capacity_ids, sli_trace_table **table) {
    sli_trace_table *created = calloc(1, sizeof *created);
    if (created == NULL) {
        return SL_ERR_NOMEM;
    }
    created->capacity_ids = capacity_ids;
    sl_err err = sli_grow(&created->rows, &created->row_capacity, 1, sizeof(row));
    if (err != SL_OK) {
        free(created);
        return err;
    }
    created->rows[0] = (row){0};
    created->row_count = 1;
    *table = created;
    return SL_OK;
}

void sli_trace_table_destroy(sli_trace_table *table) {
    if (table != NULL) {
        sli_map_fini(&table->row_of_id);
        free(table->rows);
        free(table);
    }
}

static sl_err row_of(sli_trace_table *table, uint64_t id, uint32_t *index) {
    SL_TRY(sli_grow(&table->rows, &table->row_capacity, table->row_count + 1, sizeof(row)));
    uint64_t *slot;
    bool is_new;
    SL_TRY(sli_map_put(&table->row_of_id, id, table->row_count, &slot, &is_new));
    if (is_new) {
        table->rows[table->row_count++] = (row){0};
    }
    *index = (uint32_t)*slot;
    return SL_OK;
}

static void leave_list(sli_trace_table *table, uint32_t index) {
    row *it = &table->rows[index];
    table->rows[it->older].newer = it->newer;
    table->rows[it->newer].older = it->older;
}

static void become_newest(sli_trace_table *table, uint32_t index) {
    uint32_t newest = table->rows[0].older;
    table->rows[index].older = newest;
    table->rows[index].newer = 0;
    table->rows[newest].newer = index;
    table->rows[0].older = index;
}

static bool evict_oldest_unpinned(sli_trace_table *table) {
    uint32_t index = table->rows[0].newer;
    while (index != 0 && table->rows[index].pinned_by == table->request) {
        index = table->rows[index].newer;
    }
    if (index == 0) {
        return false;
    }
    leave_list(table, index);
    table->rows[index].is_resident = false;
    table->resident_ids--;
    return true;
}

static void insert(sli_trace_table *table, uint32_t index) {
    if (table->resident_ids >= table->capacity_ids && !evict_oldest_unpinned(table)) {
        return; /* everything is pinned: dropped */
    }
    table->rows[index].is_resident = true;
    table->resident_ids++;
    become_newest(table, index);
}

/* The second pass: from the deepest id to the shallowest, residents first. */
static void touch_and_insert(sli_trace_table *table, const uint32_t *indices, int64_t id_count) {
    for (int64_t i = id_count - 1; i >= 0; i--) {
        if (table->rows[indices[i]].is_resident) {
            leave_list(table, indices[i]);
            become_newest(table, indices[i]);
        }
    }
    for (int64_t i = id_count - 1; i >= 0; i--) {
        if (!table->rows[indices[i]].is_resident) {
            insert(table, indices[i]);
        }
    }
}

sl_err sli_trace_table_request(sli_trace_table *table, const uint64_t *ids, int64_t id_count,
                               int64_t *hit_ids) {
    SL_ASSERT(id_count >= 0);
    uint32_t *indices = malloc((size_t)(id_count > 0 ? id_count : 1) * sizeof *indices);
    if (indices == NULL) {
        return SL_ERR_NOMEM;
    }
    sl_err err = SL_OK;
    table->request++;
    int64_t hits = 0;
    for (int64_t i = 0; i < id_count; i++) {
        err = row_of(table, ids[i], &indices[i]);
        if (err != SL_OK) {
            goto out;
        }
        table->rows[indices[i]].pinned_by = table->request;
        hits += hits == i && table->rows[indices[i]].is_resident;
    }
    touch_and_insert(table, indices, id_count);
    *hit_ids = hits;
out:
    free(indices);
    return err;
}
