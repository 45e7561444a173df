#include "model/keep.h"

#include "base/check.h"

#include <stdio.h>

/* ---- Which layers ---- */

bool sli_keep_cuts(const sli_layer_part *mixer) {
    if (mixer->kind != &sli_gqa_kind) {
        return false;
    }
    const sli_gqa *gqa = mixer->values;
    return gqa->window_tokens == 0 && gqa->chunk_tokens == 0 && gqa->sparse.block_tokens == 0;
}

static bool keeps_all(const sli_part_facts *facts) {
    for (int i = 0; i < facts->store_count; i++) {
        if (sli_growth_slope(&facts->stores[i].kept) > 0.0) {
            return true;
        }
    }
    return false;
}

int64_t sli_keep_layers(const sli_architecture *architecture) {
    const sli_layer_run *runs = architecture->layers.rows;
    int64_t layers = 0;
    for (size_t i = 0; i < architecture->layers.count; i++) {
        layers += sli_keep_cuts(runs[i].mixer) ? runs[i].count : 0;
    }
    return layers;
}

sl_err sli_keep_can_cut(const sli_architecture *whole, char *why, size_t why_bytes) {
    const sli_layer_run *runs = whole->layers.rows;
    bool has_any = false;
    for (size_t i = 0; i < whole->layers.count; i++) {
        const sli_layer_part *mixer = runs[i].mixer;
        bool is_cut = sli_keep_cuts(mixer);
        has_any = has_any || (is_cut && keeps_all(&mixer->facts));
        if (!is_cut && keeps_all(&mixer->facts)) {
            snprintf(why, why_bytes,
                     "its layers with '%s' (type %s) keep all tokens in another way", mixer->name,
                     mixer->kind->name);
            return SL_ERR_CONFIG;
        }
    }
    if (!has_any) {
        snprintf(why, why_bytes, "none of its layers keeps all tokens");
    }
    return has_any ? SL_OK : SL_ERR_CONFIG;
}

/* ---- One layer ---- */

static void cut_stores(sli_part_facts *facts, sli_growth seen) {
    for (int i = 0; i < facts->store_count; i++) {
        sli_store *store = &facts->stores[i];
        store->read = seen;
        if (!sli_growth_is_constant(&store->kept)) { /* else kept by an earlier layer */
            store->kept = seen;
        }
    }
}

static void cut_works(sli_part_facts *facts, sli_growth seen) {
    SL_ASSERT(facts->decode_count == 1 && facts->prefill_count == 1);
    facts->decode[0].visible = seen;
    facts->prefill[0].visible = seen;
}

/* Of 4 bytes, an fp32 number. */
static void add_scores(const sli_gqa *gqa, sli_growth seen, sli_part_facts *facts) {
    sli_facts_store(facts, (sli_store){.name = "scores",
                                       .heads = gqa->kv_heads,
                                       .elements = 1,
                                       .element_bytes = 4,
                                       .kept = sli_growth_constant(0),
                                       .read = seen,
                                       .is_rewritten = true});
    sli_facts_decode(facts, (sli_core_work){"scores", (double)gqa->q_heads, seen, gqa->q_heads});
}

static void add_prompt_work(const sli_gqa *gqa, const sl_keep_work *work, sli_growth seen,
                            sli_part_facts *facts) {
    double q_heads = (double)gqa->q_heads;
    double pair_flops = q_heads * (2.0 * (double)gqa->head_dim + 1.0);
    if (work->rescored_share > 0.0) {
        sli_facts_prefill(facts, (sli_core_work){"second look", work->rescored_share * pair_flops,
                                                 seen, gqa->q_heads});
    }
    if (work->observed_tokens > 0) {
        sli_growth observed = sli_growth_capped(work->observed_tokens);
        sli_facts_prefill(facts,
                          (sli_core_work){"second look", pair_flops, observed, gqa->q_heads});
    }
    if (work->pooled_tokens > 0) {
        sli_growth pooled = sli_growth_constant(work->pooled_tokens);
        sli_facts_prefill(facts, (sli_core_work){"pooling", q_heads, pooled, gqa->q_heads});
    }
}

static void cut_part(const sl_keep_work *work, const sl_kept *kept, sli_layer_part *part) {
    const sli_gqa *gqa = part->values;
    sli_part_facts *facts = &part->facts;
    sli_growth seen = sli_growth_kept(kept);
    cut_stores(facts, seen);
    cut_works(facts, seen);
    if (work->rotates_keys) {
        double row_flops = 3.0 * (double)(gqa->head_dim * gqa->kv_heads);
        sli_facts_decode(facts, (sli_core_work){"rotation", row_flops, seen, gqa->kv_heads});
    }
    if (work->has_scores) {
        add_scores(gqa, seen, facts);
    }
    add_prompt_work(gqa, work, seen, facts);
}

/* ---- All layers ---- */

static sl_err cut_mixers(sli_arena *arena, const sl_keep_work *work, const sl_kept *kept,
                         sli_architecture *cut) {
    size_t count = cut->attention.count;
    sli_layer_part *parts = sli_arena_array(arena, count, sizeof *parts);
    if (parts == NULL) {
        return SL_ERR_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        parts[i] = cut->mixer_parts[i];
        if (sli_keep_cuts(&parts[i])) {
            cut_part(work, kept, &parts[i]);
        }
    }
    cut->mixer_parts = parts;
    return SL_OK;
}

/* The same layers with the parts of the new table. */
static sl_err relink(sli_arena *arena, const sli_architecture *whole, sli_architecture *cut,
                     sli_table *layers) {
    const sli_layer_run *old_runs = layers->rows;
    if (layers->count == 0) {
        return SL_OK;
    }
    sli_layer_run *runs = sli_arena_array(arena, layers->count, sizeof *runs);
    if (runs == NULL) {
        return SL_ERR_NOMEM;
    }
    for (size_t i = 0; i < layers->count; i++) {
        runs[i] = old_runs[i];
        runs[i].mixer = &cut->mixer_parts[old_runs[i].mixer - whole->mixer_parts];
    }
    layers->rows = runs;
    return SL_OK;
}

sl_err sli_keep_cut(sli_arena *arena, const sli_architecture *whole, const sli_keep *keep,
                    const sli_architecture **cut) {
    sli_architecture *made = sli_arena_alloc(arena, sizeof *made);
    sl_kept *kept = sli_arena_alloc(arena, sizeof *kept);
    if (made == NULL || kept == NULL) {
        return SL_ERR_NOMEM;
    }
    *made = *whole;
    *kept = keep->rule;
    made->keep = keep->name;
    SL_TRY(cut_mixers(arena, &keep->work, kept, made));
    SL_TRY(relink(arena, whole, made, &made->layers));
    SL_TRY(relink(arena, whole, made, &made->mtp_layers));
    *cut = made;
    return SL_OK;
}
