#include "block_model.h"

#include <string.h>

static int64_t draw(sli_rng *rng, int64_t low, int64_t high) {
    return low + (int64_t)sli_rng_below(rng, (uint64_t)(high - low + 1));
}

static int64_t min_of(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ---- Sequences ---- */

uint64_t sli_model_token(const sl_content *content, int64_t place) {
    uint64_t id = content->ids[place / content->id_tokens];
    return id * 1000 + (uint64_t)(place % content->id_tokens) * 10 + content->scope;
}

/* An id spells the path to its unit, one bit a choice, then the length of units and how far the
 * last one is filled: whatever differs is another id. */
static void draw_ids(sli_rng *rng, sli_sequence *drawn, int64_t unit_count, int64_t unit_tokens) {
    uint64_t path = 1;
    for (int64_t i = 0; i < unit_count; i++) {
        bool is_partial = (i + 1) * unit_tokens > drawn->prompt_tokens;
        int64_t filled_tokens = is_partial ? drawn->prompt_tokens % unit_tokens : 0;
        path = path * 2 + (uint64_t)(draw(rng, 0, 7) == 0);
        drawn->ids[i] = path * 64 + (uint64_t)(unit_tokens * 8 + filled_tokens);
    }
}

void sli_sequence_draw(sli_rng *rng, uint64_t request, sli_sequence *drawn) {
    int64_t unit_tokens = 1 + 2 * draw(rng, 0, 2);
    drawn->prompt_tokens = draw(rng, 1, SLI_MODEL_PROMPT_TOKENS);
    int64_t most_units = (drawn->prompt_tokens + unit_tokens - 1) / unit_tokens;
    int64_t unit_count = draw(rng, 0, 3) > 0 ? most_units : draw(rng, 0, most_units);
    draw_ids(rng, drawn, unit_count, unit_tokens);
    drawn->shared_tokens = min_of(unit_count * unit_tokens, drawn->prompt_tokens);
    drawn->view = (sli_content_view){
        .content = {drawn->ids, unit_count, unit_tokens, 1 + (draw(rng, 0, 7) == 0)},
        .request = request,
        .prompt_tokens = drawn->prompt_tokens,
    };
    for (int64_t place = 0; place < SLI_MODEL_TOKENS; place++) {
        uint64_t private_token = (request << 32) + (uint64_t)place * 10;
        drawn->tokens[place] = place < drawn->shared_tokens
                                   ? sli_model_token(&drawn->view.content, place)
                                   : private_token;
    }
}

/* ---- Questions ---- */

void sli_model_init(sli_block_model *model, const sli_pool_config *config) {
    *model = (sli_block_model){
        .block_count = config->block_count,
        .block_tokens = config->block_tokens,
        .has_index = config->has_index,
        .caches_generated = config->caches_generated,
        .free_blocks = config->block_count,
    };
    for (int block = 0; block < model->block_count; block++) {
        model->queue[block] = block;
    }
}

int64_t sli_model_blocks_for(const sli_block_model *model, int64_t tokens) {
    int64_t count = 0;
    while (count * model->block_tokens < tokens) {
        count++;
    }
    return count;
}

int64_t sli_model_cached(const sli_block_model *model) {
    int64_t count = 0;
    for (int64_t place = 0; place < model->free_blocks; place++) {
        count += model->blocks[model->queue[place]].contents != NULL;
    }
    return count;
}

int sli_model_find(const sli_block_model *model, const sli_sequence *sequence, int64_t length) {
    int oldest = -1;
    for (int block = 0; block < model->block_count; block++) {
        const sli_model_block *candidate = &model->blocks[block];
        if (candidate->contents != NULL && candidate->length == length &&
            memcmp(candidate->contents->tokens, sequence->tokens,
                   (size_t)length * sizeof(uint64_t)) == 0 &&
            (oldest < 0 || candidate->published_at < model->blocks[oldest].published_at)) {
            oldest = block;
        }
    }
    return oldest;
}

sli_hit sli_model_lookup(const sli_block_model *model, const sli_sequence *sequence,
                         int64_t max_tokens) {
    sli_hit hit = {0};
    while ((hit.blocks + 1) * model->block_tokens <= max_tokens) {
        int found = sli_model_find(model, sequence, (hit.blocks + 1) * model->block_tokens);
        if (found < 0) {
            break;
        }
        hit.blocks++;
        hit.free_blocks += model->blocks[found].holders == 0;
    }
    return hit;
}

/* ---- The queue ---- */

static void leave_queue(sli_block_model *model, int block) {
    int64_t place = 0;
    while (model->queue[place] != block) {
        place++;
    }
    model->free_blocks--;
    memmove(&model->queue[place], &model->queue[place + 1],
            (size_t)(model->free_blocks - place) * sizeof model->queue[0]);
}

void sli_model_take(sli_block_model *model, sli_block_table *table) {
    int block = model->queue[0];
    leave_queue(model, block);
    model->evictions += model->blocks[block].contents != NULL;
    model->blocks[block] = (sli_model_block){.holders = 1};
    table->blocks[table->count++] = block;
}

void sli_model_share(sli_block_model *model, sli_block_table *table, int block) {
    if (model->blocks[block].holders++ == 0) {
        leave_queue(model, block);
    }
    model->blocks[block].shares++;
    table->blocks[table->count++] = block;
}

void sli_model_give_last(sli_block_model *model, sli_block_table *table, bool puts_back) {
    int block = table->blocks[--table->count];
    if (--model->blocks[block].holders > 0) {
        return;
    }
    int64_t place = puts_back ? 0 : model->free_blocks;
    memmove(&model->queue[place + 1], &model->queue[place],
            (size_t)(model->free_blocks - place) * sizeof model->queue[0]);
    model->queue[place] = block;
    model->free_blocks++;
}

/* ---- Contents ---- */

bool sli_model_publish_next(sli_block_model *model, sli_block_table *table,
                            const sli_sequence *sequence, int64_t tokens) {
    int64_t length = (table->published + 1) * model->block_tokens;
    bool is_generated = length > sequence->prompt_tokens;
    if (!model->has_index || length > tokens || (is_generated && !model->caches_generated)) {
        return false;
    }
    sli_model_block *block = &model->blocks[table->blocks[table->published++]];
    block->contents = sequence;
    block->length = length;
    block->shares = 0;
    block->published_at = model->publications++;
    return true;
}

void sli_model_forget(sli_block_model *model, const sli_sequence *sequence) {
    for (int block = 0; block < model->block_count; block++) {
        sli_model_block *it = &model->blocks[block];
        if (it->contents == sequence && it->length > sequence->shared_tokens) {
            it->contents = NULL;
        }
    }
}
