#include "kv/content.h"

#include "base/minmax.h"

int64_t sli_content_shared_blocks(const sli_content_view *view, int64_t block_tokens) {
    const sl_content *content = &view->content;
    if (content->id_count == 0) {
        return 0;
    }
    /* id_count * id_tokens may exceed the prompt by less than one unit: the last id is partial. */
    return sli_min_i64(content->id_count * content->id_tokens, view->prompt_tokens) / block_tokens;
}

/* Every unit has the end of a block in it, so comparing units compares the blocks. */
static int64_t agreement_by_units(const sl_content *a, const sl_content *b, int64_t from_block,
                                  int64_t to_block, int64_t block_tokens) {
    int64_t unit = sli_content_unit(a, from_block + 1, block_tokens);
    int64_t last_unit = sli_content_unit(a, to_block, block_tokens);
    while (unit <= last_unit && a->ids[unit] == b->ids[unit]) {
        unit++;
    }
    if (unit > last_unit) {
        return to_block - from_block;
    }
    /* Blocks that end before the unit; it may have begun before the first one did. */
    int64_t agreeing_end = unit * a->id_tokens / block_tokens;
    return agreeing_end > from_block ? agreeing_end - from_block : 0;
}

static int64_t agreement_by_blocks(const sl_content *a, const sl_content *b, int64_t from_block,
                                   int64_t to_block, int64_t block_tokens) {
    int64_t block = from_block;
    while (block < to_block && a->ids[sli_content_unit(a, block + 1, block_tokens)] ==
                                   b->ids[sli_content_unit(b, block + 1, block_tokens)]) {
        block++;
    }
    return block - from_block;
}

int64_t sli_content_agreement(const sl_content *a, const sl_content *b, int64_t from_block,
                              int64_t to_block, int64_t block_tokens) {
    if (a->scope != b->scope || from_block >= to_block) {
        return 0;
    }
    bool has_large_units = a->id_tokens == b->id_tokens && a->id_tokens >= block_tokens;
    return has_large_units ? agreement_by_units(a, b, from_block, to_block, block_tokens)
                           : agreement_by_blocks(a, b, from_block, to_block, block_tokens);
}
