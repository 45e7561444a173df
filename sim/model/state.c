#include "model/state.h"

#include "base/check.h"
#include "base/divide.h"

#include <stdio.h>
#include <string.h>

/* The latest rows of each head that a rank holds, in a sequence of so many tokens. */
static int64_t rows_bytes(const sli_store *store, const sli_cache_format *format, int64_t rows,
                          int64_t tokens, int64_t tp) {
    int64_t heads = sli_divide_up(store->heads, tp);
    return store->element_bytes > 0
               ? heads * rows * store->elements * store->element_bytes
               : sli_format_rows_bytes(format, store->sort, heads, store->elements, rows, tokens);
}

int64_t sli_state_row_rank_bytes(const sli_store *store, const sli_cache_format *format,
                                 int64_t tp) {
    int64_t heads = sli_divide_up(store->heads, tp);
    return store->element_bytes > 0
               ? heads * store->elements * store->element_bytes
               : sli_format_row_bytes(format, store->sort, heads, store->elements);
}

static void add_sorts(const sli_part_facts *facts, bool kept[SLI_ROW_COUNT]) {
    for (int i = 0; i < facts->store_count; i++) {
        const sli_store *store = &facts->stores[i];
        if (store->element_bytes == 0) {
            kept[store->sort] = true;
        }
    }
}

void sli_state_sorts(const sli_architecture *architecture, bool kept[SLI_ROW_COUNT]) {
    const sli_layer_run *runs = architecture->layers.rows;
    memset(kept, 0, SLI_ROW_COUNT * sizeof kept[0]);
    for (size_t i = 0; i < architecture->layers.count; i++) {
        add_sorts(&runs[i].mixer->facts, kept);
    }
}

static bool is_fixed(const sli_store *store) {
    return sli_growth_is_constant(&store->kept);
}

sli_state_bytes sli_state_part_rank(const sli_part_facts *facts, const sli_cache_format *format,
                                    int64_t tokens, int64_t tp) {
    SL_DCHECK(tp >= 1);
    sli_state_bytes state = {0};
    for (int i = 0; i < facts->store_count; i++) {
        const sli_store *store = &facts->stores[i];
        int64_t rows = sli_growth_last(&store->kept, tokens);
        int64_t bytes = rows_bytes(store, format, rows, tokens, tp);
        *(is_fixed(store) ? &state.fixed : &state.cached) += bytes;
    }
    return state;
}

sli_state_bytes sli_state_part(const sli_part_facts *facts, const sli_cache_format *format,
                               int64_t tokens) {
    return sli_state_part_rank(facts, format, tokens, 1);
}

/* Only mixers keep anything. */
static sli_state_bytes sum_runs(const sli_table *layers, const sli_cache_format *format,
                                int64_t tokens, int64_t tp) {
    const sli_layer_run *runs = layers->rows;
    sli_state_bytes sum = {0};
    for (size_t i = 0; i < layers->count; i++) {
        sli_state_bytes part = sli_state_part_rank(&runs[i].mixer->facts, format, tokens, tp);
        sum.cached += runs[i].count * part.cached;
        sum.fixed += runs[i].count * part.fixed;
    }
    return sum;
}

sli_state_bytes sli_state_kept(const sli_architecture *architecture, const sli_cache_format *format,
                               int64_t tokens) {
    return sum_runs(&architecture->layers, format, tokens, 1);
}

sli_state_bytes sli_state_mtp(const sli_architecture *architecture, const sli_cache_format *format,
                              int64_t tokens) {
    return sum_runs(&architecture->mtp_layers, format, tokens, 1);
}

sli_state_bytes sli_state_rank(const sli_architecture *architecture, const sli_cache_format *format,
                               int64_t tokens, int64_t tp) {
    return sum_runs(&architecture->layers, format, tokens, tp);
}

double sli_state_growth(const sli_architecture *architecture, const sli_cache_format *format) {
    const sli_layer_run *runs = architecture->layers.rows;
    double growth_bytes = 0.0;
    for (size_t i = 0; i < architecture->layers.count; i++) {
        const sli_part_facts *facts = &runs[i].mixer->facts;
        for (int j = 0; j < facts->store_count; j++) {
            const sli_store *store = &facts->stores[j];
            growth_bytes += (double)(runs[i].count * sli_state_row_rank_bytes(store, format, 1)) *
                            sli_growth_slope_behind(&store->kept);
        }
    }
    return growth_bytes;
}

int64_t sli_state_part_read(const sli_part_facts *facts, const sli_cache_format *format,
                            int64_t tokens) {
    int64_t moved_bytes = 0;
    for (int i = 0; i < facts->store_count; i++) {
        const sli_store *store = &facts->stores[i];
        int64_t rows = sli_growth_last(&store->read, tokens);
        int64_t bytes = rows_bytes(store, format, rows, tokens, 1);
        moved_bytes += store->is_rewritten ? 2 * bytes : bytes;
    }
    return moved_bytes;
}

int64_t sli_state_read(const sli_architecture *architecture, const sli_cache_format *format,
                       int64_t tokens) {
    const sli_layer_run *runs = architecture->layers.rows;
    int64_t moved_bytes = 0;
    for (size_t i = 0; i < architecture->layers.count; i++) {
        moved_bytes += runs[i].count * sli_state_part_read(&runs[i].mixer->facts, format, tokens);
    }
    return moved_bytes;
}

/* ---- Formats that the rows have no use for ---- */

/* What the cache format is for, `latents and index keys`; empty where all is state. */
typedef struct kept_text {
    char text[96];
} kept_text;

static kept_text say_kept(const bool kept[SLI_ROW_COUNT]) {
    static const char *const names[SLI_ROW_COUNT] = {
        [SLI_ROW_KEY] = "keys and values",
        [SLI_ROW_LATENT] = "latents",
        [SLI_ROW_ENTRY] = "compressed entries",
        [SLI_ROW_INDEX] = "index keys",
    };
    kept_text said = {""};
    size_t used = 0;
    for (int sort = 0; sort < SLI_ROW_COUNT; sort++) {
        if (kept[sort] && names[sort] != NULL) {
            used += (size_t)snprintf(said.text + used, sizeof said.text - used, "%s%s",
                                     used > 0 ? " and " : "", names[sort]);
        }
    }
    return said;
}

sli_format_remark sli_state_remark(const sli_architecture *architecture,
                                   const sli_cache_format *format) {
    sli_format_remark remark = {""};
    bool kept[SLI_ROW_COUNT];
    sli_state_sorts(architecture, kept);
    const sli_cache_format *plainest = sli_cache_format_plainest(format, kept);
    kept_text said = say_kept(kept);
    if (plainest == format) {
        return remark;
    }
    if (said.text[0] == '\0') {
        snprintf(remark.text, sizeof remark.text,
                 "kv %s changes nothing: all that %s keeps is state, which has types of its own",
                 format->name, architecture->id);
    } else if (plainest == &sli_cache_formats[0]) {
        snprintf(remark.text, sizeof remark.text,
                 "kv %s changes nothing: %s keeps %s, which stay in %s", format->name,
                 architecture->id, said.text, plainest->name);
    } else {
        snprintf(remark.text, sizeof remark.text, "kv %s does no more than %s: %s keeps %s only",
                 format->name, plainest->name, architecture->id, said.text);
    }
    return remark;
}
