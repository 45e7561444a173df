#include "model/repeats.h"

#include <string.h>

/* ---- Unfolding ---- */

static const sl_param times_param = {.name = "times",
                                     .type = SL_TYPE_INT,
                                     .min = 1,
                                     .max = 10000,
                                     .help = "how often the rows come"};

static const sli_section times_section = {
    .params = &times_param,
    .param_count = 1,
    .struct_size = sizeof(int64_t),
};

/* Two values, the second a list: no row has that form. */
static bool is_repeat(const sli_node *row) {
    return row->kind == SLI_NODE_LIST && row->count == 2 && row->last->kind == SLI_NODE_LIST;
}

/* The number in front, which the schema reads as it reads all others. */
static sl_err read_times(sli_arena *arena, const char *key, const sli_node *repeat, sli_diag *diag,
                         int64_t *times) {
    const sli_field field = {.name = key, .kind = SLI_FIELD_SECTION, .section = &times_section};
    const sli_section section = {.fields = &field, .field_count = 1, .struct_size = sizeof *times};
    sli_node number = *repeat->first;
    number.key = times_param.name;
    number.next = NULL;
    sli_node map = {.kind = SLI_NODE_MAP,
                    .key = key,
                    .mark = repeat->mark,
                    .first = &number,
                    .last = &number,
                    .count = 1};
    sli_node root = {.kind = SLI_NODE_MAP, .first = &map, .last = &map, .count = 1};
    return sli_schema_resolve(arena, &section, NULL, &root, diag, times);
}

/* Whether there are rows in the repeat and nothing else; false after a message. */
static bool holds_rows(const sli_node *repeat, const char *key, sli_diag *diag) {
    const sli_node *rows = repeat->last;
    if (rows->count == 0) {
        sli_diag_error(diag, rows->mark, key, "expected the rows to repeat, found none");
        return false;
    }
    for (const sli_node *row = rows->first; row != NULL; row = row->next) {
        if (row->kind != SLI_NODE_LIST) {
            sli_diag_error(diag, row->mark, key,
                           "expected a row to repeat, found %s; the rows stand in a list of their "
                           "own: [times, [[...], [...]]]",
                           row->kind == SLI_NODE_MAP ? "a mapping" : "a word");
            return false;
        }
        if (is_repeat(row)) {
            sli_diag_error(diag, row->mark, key, "a repeat cannot stand in another one");
            return false;
        }
    }
    return true;
}

/* Fills the entry; after a mistake the repeat is flawed and stands for itself. */
static sl_err read_repeat(sli_arena *arena, const char *key, sli_node *repeat, sli_diag *diag,
                          sli_repeat *entry) {
    int64_t times = 0;
    sl_err err = read_times(arena, key, repeat, diag, &times);
    if (err != SL_OK && err != SL_ERR_CONFIG) {
        return err;
    }
    if (!holds_rows(repeat, key, diag) || times == 0) {
        repeat->is_flawed = true;
    } else {
        *entry = (sli_repeat){.times = times, .rows = repeat->last->count};
    }
    return SL_OK;
}

/* Puts a chain of rows behind the others. */
static void append(sli_node *list, sli_node *first, sli_node *last, size_t count) {
    if (list->last != NULL) {
        list->last->next = first;
    } else {
        list->first = first;
    }
    last->next = NULL;
    list->last = last;
    list->count += count;
}

static sl_err unfold_row(sli_arena *arena, const char *key, sli_node *row, sli_diag *diag,
                         sli_node *list, sli_repeat *entry) {
    *entry = (sli_repeat){.times = 1, .rows = 1};
    if (!is_repeat(row)) {
        append(list, row, row, 1);
        return SL_OK;
    }
    SL_TRY(read_repeat(arena, key, row, diag, entry));
    if (row->is_flawed) {
        append(list, row, row, 1);
    } else {
        append(list, row->last->first, row->last->last, row->last->count);
    }
    return SL_OK;
}

sl_err sli_repeats_unfold(sli_arena *arena, sli_node *root, const char *key, sli_diag *diag,
                          sli_repeats *repeats) {
    sli_node *list = sli_node_find(root, key);
    *repeats = (sli_repeats){.key = key};
    if (list == NULL || list->kind != SLI_NODE_LIST) {
        return SL_OK;
    }
    repeats->mark = list->mark;
    repeats->entries = sli_arena_array(arena, list->count, sizeof *repeats->entries);
    if (repeats->entries == NULL) {
        return SL_ERR_NOMEM;
    }
    sli_node *next = NULL;
    sli_node *row = list->first;
    list->first = list->last = NULL;
    list->count = 0;
    for (; row != NULL; row = next) {
        next = row->next;
        SL_TRY(unfold_row(arena, key, row, diag, list, &repeats->entries[repeats->count++]));
        root->is_flawed |= row->is_flawed;
    }
    return SL_OK;
}

/* ---- Expanding ---- */

/* Puts the bytes there so many times; answers where the next ones go. */
static char *copy_rows(char *to, const char *from, size_t bytes, int64_t times) {
    for (int64_t i = 0; i < times; i++) {
        memcpy(to, from, bytes);
        to += bytes;
    }
    return to;
}

sl_err sli_repeats_expand(sli_arena *arena, const sli_repeats *repeats, size_t row_bytes,
                          int64_t max_rows, sli_diag *diag, sli_table *table) {
    int64_t count = 0; /* no list is so long that this could overflow */
    for (size_t i = 0; i < repeats->count; i++) {
        count += repeats->entries[i].times * (int64_t)repeats->entries[i].rows;
    }
    if (count > max_rows) {
        sli_diag_error(diag, repeats->mark, repeats->key,
                       "the repeats stand for %lld rows, and %lld are the most", (long long)count,
                       (long long)max_rows);
        return SL_ERR_CONFIG;
    }
    char *rows = sli_arena_array(arena, (size_t)count, row_bytes);
    if (rows == NULL) {
        return SL_ERR_NOMEM;
    }
    const char *from = table->rows;
    char *to = rows;
    for (size_t i = 0; i < repeats->count; i++) {
        size_t bytes = repeats->entries[i].rows * row_bytes;
        to = copy_rows(to, from, bytes, repeats->entries[i].times);
        from += bytes;
    }
    *table = (sli_table){.rows = rows, .count = (size_t)count};
    return SL_OK;
}
