/*
 * What a layer keeps of one sort, in a block: the share that it has in the pages of a group.
 *
 * Floor kv. A layer has a share for each sort of its stores: keys and values are one, a window and
 * the compressed entries behind it are two. Values of a few words; O(stores). Must not know the
 * other layers (kv/layout.h puts them together).
 */
#ifndef SLUICE_KV_LAYER_SHARE_H
#define SLUICE_KV_LAYER_SHARE_H

#include "kv/layout.h"

typedef struct sli_layer_share {
    sli_group_kind kind; /* never fixed: that is decided when all layers are known */
    int64_t span_tokens;
    const sl_kept *kept;
    int64_t block_tokens;
    int64_t need_bytes;
    int64_t laid_bytes; /* that it takes where it does not share the pages of other types */
} sli_layer_share;

/* Whether the layer is of DeepSeek V4, which has blocks of its own. */
bool sli_layer_is_compressed(const sli_layer_part *mixer);

/* The shares of a layer in blocks of so many tokens; answers how many. What an earlier layer keeps
 * for it has none. */
int sli_layer_shares(const sli_layer_part *mixer, const sli_layout_options *options,
                     int64_t block_tokens, sli_layer_share shares[SLI_STORE_MAX]);

/* The pages that a layer would have for itself: of DeepSeek V4 for each store, of others for each
 * share. Answers how many. */
int sli_layer_pages(const sli_layer_part *mixer, const sli_layout_options *options,
                    int64_t block_tokens, int64_t pages_bytes[SLI_STORE_MAX]);

/* Whether both are of one sort: held alike, whatever their bytes. */
bool sli_layer_share_is_like(const sli_layer_share *a, const sli_layer_share *b);

/* The kind of the share that a store belongs to. */
sli_group_kind sli_layer_group_kind(const sli_store *store, const sli_layout_options *options);

/* Rows that so many tokens leave when none is dropped; of a state all there are. */
int64_t sli_layer_rows_left(const sli_store *store, int64_t tokens);

/* Rows that are kept after so many tokens; of those that are thrown out all are prompt. */
int64_t sli_layer_rows_kept(const sli_store *store, int64_t tokens);

#endif
