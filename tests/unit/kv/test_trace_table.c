/*
 * The cache of trace ids: by hand, against a list of time stamps, against the theory of LRU, and
 * against published traces.
 *
 * The traces are not part of the repository: SLUICE_DATA names a folder that has them.
 */
#include "kernel/rng.h"
#include "kv/trace_table.h"
#include "workloads/readers.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static sli_trace_table *make_table(int64_t capacity_ids) {
    sli_trace_table *table = NULL;
    assert_int_equal(sli_trace_table_create(capacity_ids, &table), SL_OK);
    return table;
}

static int64_t request(sli_trace_table *table, const uint64_t *ids, int64_t id_count) {
    int64_t hit_ids = -1;
    assert_int_equal(sli_trace_table_request(table, ids, id_count, &hit_ids), SL_OK);
    return hit_ids;
}

/* ---- By hand ---- */

static void hits_are_the_longest_resident_prefix(void **state) {
    (void)state;
    sli_trace_table *table = make_table(10);
    assert_int_equal(request(table, (const uint64_t[]){1, 2, 3}, 3), 0);
    assert_int_equal(request(table, (const uint64_t[]){1, 2, 3}, 3), 3);
    assert_int_equal(request(table, (const uint64_t[]){1, 2, 4, 5}, 4), 2);
    assert_int_equal(request(table, (const uint64_t[]){6, 2}, 2), 0); /* 2 after a miss */
    assert_int_equal(request(table, NULL, 0), 0);
    assert_int_equal(request(table, (const uint64_t[]){UINT64_MAX, 0}, 2), 0);
    assert_int_equal(request(table, (const uint64_t[]){UINT64_MAX, 0}, 2), 2);
    sli_trace_table_destroy(table);
}

/* The deeper of two ids of one request is the older one. */
static void the_deepest_id_is_evicted_first(void **state) {
    (void)state;
    sli_trace_table *table = make_table(3);
    request(table, (const uint64_t[]){1, 2, 3}, 3);
    request(table, (const uint64_t[]){4}, 1);                            /* evicts 3 */
    assert_int_equal(request(table, (const uint64_t[]){1, 2, 3}, 3), 2); /* evicts 4 */
    assert_int_equal(request(table, (const uint64_t[]){4}, 1), 0);
    sli_trace_table_destroy(table);
}

/* What misses is newer than what hits: of {1, 2} and then {1, 2, 3}, 2 is evicted first. */
static void what_hits_is_touched_before_what_misses_is_inserted(void **state) {
    (void)state;
    sli_trace_table *table = make_table(3);
    request(table, (const uint64_t[]){1, 2}, 2);
    assert_int_equal(request(table, (const uint64_t[]){1, 2, 3}, 3), 2);
    request(table, (const uint64_t[]){9}, 1);
    assert_int_equal(request(table, (const uint64_t[]){1}, 1), 1);
    assert_int_equal(request(table, (const uint64_t[]){3}, 1), 1);
    assert_int_equal(request(table, (const uint64_t[]){2}, 1), 0);
    sli_trace_table_destroy(table);
}

/* Four ids in a cache of two: 4 and 3 come in, 2 and 1 find all pinned and are dropped. */
static void drops_what_finds_all_pinned(void **state) {
    (void)state;
    sli_trace_table *table = make_table(2);
    assert_int_equal(request(table, (const uint64_t[]){1, 2, 3, 4}, 4), 0);
    assert_int_equal(request(table, (const uint64_t[]){1, 2, 3, 4}, 4), 0);
    assert_int_equal(request(table, (const uint64_t[]){3, 4}, 2), 2);
    assert_int_equal(request(table, (const uint64_t[]){1}, 1), 0); /* pinned no more: evicts 4 */
    assert_int_equal(request(table, (const uint64_t[]){3, 4}, 2), 1);
    sli_trace_table_destroy(table);
}

static void without_room_nothing_ever_hits(void **state) {
    (void)state;
    sli_trace_table *table = make_table(0);
    assert_int_equal(request(table, (const uint64_t[]){1}, 1), 0);
    assert_int_equal(request(table, (const uint64_t[]){1}, 1), 0);
    sli_trace_table_destroy(table);
    sli_trace_table_destroy(NULL);
}

/* ---- Against a list ---- */

enum { MAX_IDS = 300, MAX_LENGTH = 12 };

typedef struct list {
    int64_t capacity;
    int64_t resident;
    int64_t now;
    int64_t used_at[MAX_IDS]; /* 0 = not resident */
} list;

static bool is_among(uint64_t id, const uint64_t *ids, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        if (ids[i] == id) {
            return true;
        }
    }
    return false;
}

static bool make_room(list *it, const uint64_t *pinned, int64_t pinned_count) {
    if (it->resident < it->capacity) {
        return true;
    }
    uint64_t oldest = MAX_IDS;
    for (uint64_t id = 0; id < MAX_IDS; id++) {
        if (it->used_at[id] > 0 && !is_among(id, pinned, pinned_count) &&
            (oldest == MAX_IDS || it->used_at[id] < it->used_at[oldest])) {
            oldest = id;
        }
    }
    if (oldest == MAX_IDS) {
        return false;
    }
    it->used_at[oldest] = 0;
    it->resident--;
    return true;
}

static int64_t request_of_list(list *it, const uint64_t *ids, int64_t count) {
    int64_t hits = 0;
    while (hits < count && it->used_at[ids[hits]] > 0) {
        hits++;
    }
    for (int64_t i = count - 1; i >= 0; i--) {
        if (it->used_at[ids[i]] > 0) {
            it->used_at[ids[i]] = ++it->now;
        }
    }
    for (int64_t i = count - 1; i >= 0; i--) {
        if (it->used_at[ids[i]] == 0 && make_room(it, ids, count)) {
            it->used_at[ids[i]] = ++it->now;
            it->resident++;
        }
    }
    return hits;
}

/* A path down a tree in which the first child is usual, as in traces; ids are its nodes. */
static int64_t draw_path(sli_rng *rng, uint64_t ids[MAX_LENGTH]) {
    int64_t count = (int64_t)sli_rng_below(rng, MAX_LENGTH + 1);
    uint64_t path = sli_rng_below(rng, 4);
    for (int64_t i = 0; i < count; i++) {
        path = (path * 5 + 7 + (sli_rng_below(rng, 3) == 0 ? sli_rng_below(rng, 5) : 0)) % MAX_IDS;
        while (is_among(path, ids, i)) {
            path = (path + 1) % MAX_IDS;
        }
        ids[i] = path;
    }
    return count;
}

static void agrees_with_a_list_of_time_stamps(void **state) {
    (void)state;
    int64_t hits = 0;
    for (int64_t capacity = 0; capacity <= 60; capacity++) {
        sli_rng rng;
        sli_rng_init(&rng, 1, "test-table", 0, (uint64_t)capacity);
        sli_trace_table *table = make_table(capacity);
        list it = {.capacity = capacity};
        for (int i = 0; i < 200; i++) {
            uint64_t ids[MAX_LENGTH];
            int64_t count = draw_path(&rng, ids);
            int64_t expected = request_of_list(&it, ids, count);
            assert_int_equal(request(table, ids, count), expected);
            hits += expected;
        }
        sli_trace_table_destroy(table);
    }
    assert_true(hits > 1000);
}

/* ---- Against theory ---- */

/*
 * Mattson et al., IBM Systems Journal 9(2), 1970: with one id a request, LRU hits if and only if
 * fewer than `capacity` other ids came since the last use.
 */
static void single_ids_hit_by_their_stack_distance(void **state) {
    (void)state;
    enum { LENGTH = 400, IDS = 30 };
    uint64_t ids[LENGTH];
    sli_rng rng;
    sli_rng_init(&rng, 1, "test-stack", 0, 0);
    for (int i = 0; i < LENGTH; i++) {
        ids[i] = sli_rng_below(&rng, 1 + sli_rng_below(&rng, IDS));
    }
    for (int64_t capacity = 1; capacity <= IDS; capacity++) {
        sli_trace_table *table = make_table(capacity);
        for (int i = 0; i < LENGTH; i++) {
            int last = i - 1;
            while (last >= 0 && ids[last] != ids[i]) {
                last--;
            }
            int64_t distance = 0;
            for (int j = last + 1; j < i; j++) {
                distance += !is_among(ids[j], &ids[last + 1], j - last - 1);
            }
            assert_int_equal(request(table, &ids[i], 1), last >= 0 && distance < capacity);
        }
        sli_trace_table_destroy(table);
    }
}

/* ---- Against published traces ---- */

enum { CAPACITIES = 5, BLOCK_TOKENS = 512 };

static const int64_t capacities[CAPACITIES] = {1000, 5859, 20000, 50000, 97656};

/* Hit ratios in 1/10,000 of all ids, LRU; -1 = not known. */
typedef struct reference {
    const char *file;
    int64_t hits[CAPACITIES];
    int64_t blocks;
    int64_t infinite_hits; /* = blocks - distinct ids */
} reference;

/*
 * Qin et al., Mooncake, FAST 2025, and the head of its arXiv trace. The counts follow from the
 * files alone; the ratios are those on which two independent implementations agree.
 */
static const reference references[] = {
    {"traces/mooncake-fast25/conversation_trace.jsonl",
     {445, 1361, 2878, 3546, 3635},
     288500,
     105710},
    {"traces/mooncake-fast25/synthetic_trace.jsonl", {841, 3094, 5717, 6396, 6396}, 121877, 77953},
    {"traces/dynamo/mooncake_trace_1000.jsonl", {2827, -1, -1, -1, -1}, 19686, 7479},
};

static void read_trace(const char *folder, const char *name, sli_trace *trace) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    sli_diag diag = {0};
    sli_line_errors errors = {.diag = &diag, .file = path};
    sli_lines lines;
    sl_err err = sli_lines_open(&lines, &errors);
    if (err == SL_OK) {
        err = sli_mooncake_read(&lines, BLOCK_TOKENS, trace);
        sli_lines_close(&lines);
    }
    sli_diag_print(&diag, stderr);
    assert_int_equal(err, SL_OK);
    assert_int_equal(diag.error_count, 0);
    sli_diag_fini(&diag);
}

static int64_t count_hits(const sli_trace *trace, int64_t capacity_ids) {
    sli_trace_table *table = make_table(capacity_ids);
    int64_t hits = 0;
    for (size_t i = 0; i < trace->count; i++) {
        const sli_trace_row *row = &trace->rows[i];
        hits += request(table, &trace->ids[row->first_id], (int64_t)row->id_count);
    }
    sli_trace_table_destroy(table);
    return hits;
}

static void compare_with(const reference *expected, const sli_trace *trace) {
    assert_int_equal(trace->id_count, expected->blocks);
    int64_t hits_before = 0;
    for (int i = 0; i < CAPACITIES; i++) {
        int64_t hits = count_hits(trace, capacities[i]);
        assert_true(hits >= hits_before);
        hits_before = hits;
        if (expected->hits[i] >= 0) {
            double ratio = (double)hits / (double)expected->blocks;
            assert_int_equal(llround(ratio * 1e4), expected->hits[i]);
        }
    }
    assert_true(expected->infinite_hits >= hits_before);
    assert_int_equal(count_hits(trace, INT64_MAX), expected->infinite_hits);
}

static void reproduces_the_hit_ratios_of_published_traces(void **state) {
    (void)state;
    const char *folder = getenv("SLUICE_DATA");
    if (folder == NULL) {
        skip();
    }
    for (size_t i = 0; i < sizeof references / sizeof references[0]; i++) {
        sli_trace trace = {0};
        read_trace(folder, references[i].file, &trace);
        compare_with(&references[i], &trace);
        sli_trace_fini(&trace);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hits_are_the_longest_resident_prefix),
        cmocka_unit_test(the_deepest_id_is_evicted_first),
        cmocka_unit_test(what_hits_is_touched_before_what_misses_is_inserted),
        cmocka_unit_test(drops_what_finds_all_pinned),
        cmocka_unit_test(without_room_nothing_ever_hits),
        cmocka_unit_test(agrees_with_a_list_of_time_stamps),
        cmocka_unit_test(single_ids_hit_by_their_stack_distance),
        cmocka_unit_test(reproduces_the_hit_ratios_of_published_traces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
