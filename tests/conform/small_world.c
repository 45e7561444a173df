#include "small_world.h"

#include "kernel/time.h"

#include <string.h>

extern const sl_policy_table *const sl_builtin_policies[];

int64_t sli_draw_between(sli_rng *rng, int64_t low, int64_t high) {
    return low + (int64_t)sli_rng_below(rng, (uint64_t)(high - low + 1));
}

bool sli_draw_once_in(sli_rng *rng, uint64_t times) {
    return sli_rng_below(rng, times) == 0;
}

static int64_t min_of(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ---- The cluster ---- */

static void draw_engine(sli_rng *rng, sli_engine_config *engine) {
    static const int64_t usual_blocks[] = {1, 2, 4, 16};
    int64_t block_tokens = sli_draw_once_in(rng, 2) ? usual_blocks[sli_rng_below(rng, 4)]
                                                    : sli_draw_between(rng, 1, 16);
    int64_t block_count = sli_draw_once_in(rng, 2) ? sli_draw_between(rng, 2, 12)
                                                   : sli_draw_between(rng, 2, 60);
    int64_t pool_tokens = block_tokens * block_count;
    *engine = (sli_engine_config){
        .max_batched_tokens = sli_draw_between(rng, 1, 64),
        .max_seqs = sli_draw_between(rng, 1, 8),
        .max_model_tokens = sli_draw_once_in(rng, 4) ? sli_draw_between(rng, 2, pool_tokens + 1)
                                                     : pool_tokens + 100,
        .watermark_blocks = sli_draw_once_in(rng, 3) ? sli_draw_between(rng, 1, 1 + block_count / 4)
                                                     : 0,
        .order = sli_draw_once_in(rng, 2) ? SLI_ORDER_PRIORITY : SLI_ORDER_FCFS,
        .victim = sli_draw_once_in(rng, 2) ? SLI_VICTIM_WORST : SLI_VICTIM_LAST,
        .keeps_promises = true,
        .pool = {.block_count = block_count,
                 .block_tokens = block_tokens,
                 .has_index = !sli_draw_once_in(rng, 3),
                 .caches_generated = !sli_draw_once_in(rng, 3)},
    };
}

static void draw_cluster(sli_rng *rng, sli_small_world *world) {
    static const char *const routes[] = {"round_robin", "least_outstanding", "shared"};
    draw_engine(rng, &world->engine);
    world->replica_count = (uint32_t)sli_draw_between(rng, 1, 3);
    world->route = routes[sli_rng_below(rng, 3)];
    world->over_length = sli_draw_once_in(rng, 2) ? SLI_OVER_LENGTH_REJECT
                                                  : SLI_OVER_LENGTH_TRUNCATE;
    world->cost = (sli_fixed_config){
        .step_ns = SLI_SMALL_GRID_NS * sli_draw_between(rng, 0, 3),
        .token_ns = sli_draw_once_in(rng, 2) ? 0 : SLI_SMALL_GRID_NS / sli_draw_between(rng, 1, 2),
        .sequence_ns = sli_draw_once_in(rng, 2) ? 0 : SLI_SMALL_GRID_NS,
    };
}

/* ---- The prompts: a tree of contents, whose ids say all that comes before them ---- */

static int64_t units_for(int64_t tokens, int64_t id_tokens) {
    return (tokens + id_tokens - 1) / id_tokens;
}

static int64_t draw_prompt_tokens(sli_rng *rng, const sli_engine_config *engine) {
    int64_t block_tokens = engine->pool.block_tokens;
    int64_t pool_tokens = block_tokens * engine->pool.block_count;
    if (sli_draw_once_in(rng, 24)) {
        return sli_draw_between(rng, 1, pool_tokens + 2 * block_tokens); /* may be too long */
    }
    int64_t most_tokens = min_of(120, 1 + pool_tokens * 2 / 3);
    int64_t tokens = sli_draw_between(rng, 1, most_tokens);
    if (sli_draw_once_in(rng, 3)) {
        tokens = block_tokens * units_for(tokens, block_tokens);
    }
    return tokens;
}

/* Continues from a random point of the contents of `parent` with ids that nobody has had. */
static void draw_content(sli_rng *rng, sli_small_request *request, const sli_small_request *parent,
                         int64_t id_tokens, uint64_t *next_id) {
    sl_content *content = &request->desc.content;
    int64_t shared = 0;
    content->scope = 1;
    if (parent != NULL) {
        content->scope = parent->desc.content.scope;
        shared = sli_draw_between(rng, 0, parent->desc.content.id_count);
        memcpy(request->ids, parent->ids, (size_t)shared * sizeof request->ids[0]);
        if (sli_draw_once_in(rng, 8)) {
            content->scope = 3 - content->scope; /* the same ids mean other contents */
        }
    }
    content->id_tokens = id_tokens;
    content->id_count = min_of(SLI_SMALL_IDS, units_for(request->desc.prompt_tokens, id_tokens));
    if (sli_draw_once_in(rng, 4)) {
        content->id_count = sli_draw_between(rng, 0, content->id_count); /* then its own */
    }
    for (int64_t i = shared; i < content->id_count; i++) {
        request->ids[i] = (*next_id)++;
    }
}

static void draw_prompt(sli_rng *rng, sli_small_world *world, int i, int64_t id_tokens,
                        uint64_t *next_id) {
    sli_small_request *request = &world->requests[i];
    const sli_small_request *earlier = i > 0 ? &world->requests[sli_rng_below(rng, (uint64_t)i)]
                                             : NULL;
    request->desc.prompt_tokens = draw_prompt_tokens(rng, &world->engine);
    if (sli_draw_once_in(rng, 5)) {
        return; /* private */
    }
    if (earlier != NULL && sli_draw_once_in(rng, 5)) {
        request->desc.prompt_tokens = earlier->desc.prompt_tokens; /* a copy */
        request->desc.content = earlier->desc.content;
        memcpy(request->ids, earlier->ids, sizeof request->ids);
        return;
    }
    bool has_parent = earlier != NULL && earlier->desc.content.id_count > 0 &&
                      !sli_draw_once_in(rng, 3);
    draw_content(rng, request, has_parent ? earlier : NULL, id_tokens, next_id);
}

/* ---- The script ---- */

static void draw_requests(sli_rng *rng, sli_small_world *world) {
    int64_t block_tokens = world->engine.pool.block_tokens;
    int64_t id_tokens = sli_draw_once_in(rng, 2) ? block_tokens : sli_draw_between(rng, 1, 12);
    int64_t span = sli_draw_between(rng, 1, 200);
    bool has_cancels = sli_draw_once_in(rng, 4);
    uint64_t next_id = 1;
    world->request_count = (int)sli_draw_between(rng, 1, SLI_SMALL_REQUESTS);
    world->concurrency = sli_draw_once_in(rng, 3) ? (int)sli_draw_between(rng, 1, 8) : 0;
    for (int i = 0; i < world->request_count; i++) {
        sli_small_request *request = &world->requests[i];
        bool is_long = sli_draw_once_in(rng, 3);
        request->delay_ns = SLI_SMALL_GRID_NS * sli_draw_between(rng, 0, span);
        request->patience_ns = SLI_NEVER;
        if (has_cancels && sli_draw_once_in(rng, 2)) {
            request->patience_ns = SLI_SMALL_GRID_NS * sli_draw_between(rng, 0, span);
        }
        draw_prompt(rng, world, i, id_tokens, &next_id);
        request->desc.output_tokens = sli_draw_between(rng, 1, is_long ? 40 : 10);
        request->desc.priority = (int32_t)sli_draw_between(rng, -1, 1);
    }
}

void sli_small_world_draw(uint64_t number, sli_small_world *world) {
    sli_rng rng;
    sli_rng_init(&rng, number, "small world", 0, 0);
    *world = (sli_small_world){.number = number};
    draw_cluster(&rng, world);
    draw_requests(&rng, world);
}

/* ---- Layers of other sorts ---- */

/* Equal to the block of the first group, a part of it, or as large as the place of a hit. */
static int64_t draw_block_tokens(sli_rng *rng, int64_t block_tokens, int64_t align_tokens) {
    int64_t times = sli_draw_between(rng, 1, 3);
    if (sli_draw_once_in(rng, 2)) {
        return align_tokens;
    }
    return block_tokens % times == 0 ? block_tokens / times : block_tokens;
}

static sli_group draw_group(sli_rng *rng, int64_t block_tokens, int64_t align_tokens) {
    static const sli_group_kind kinds[] = {SLI_GROUP_SLIDING, SLI_GROUP_CHUNKED, SLI_GROUP_STATE,
                                           SLI_GROUP_SLIDING, SLI_GROUP_STATE,   SLI_GROUP_FIXED};
    sli_group group = {
        .kind = kinds[sli_rng_below(rng, sli_draw_once_in(rng, 3) ? 6 : 5)],
        .block_tokens = draw_block_tokens(rng, block_tokens, align_tokens),
        .block_pages = sli_draw_between(rng, 1, 3),
    };
    if (group.kind == SLI_GROUP_SLIDING) {
        group.span_tokens = sli_draw_between(rng, 1, 40);
    } else if (group.kind == SLI_GROUP_CHUNKED) {
        group.span_tokens = align_tokens * sli_draw_between(rng, 1, 4);
    } else if (group.kind == SLI_GROUP_FIXED) {
        group.fixed_blocks = sli_draw_between(rng, 1, 4);
    } else {
        group.block_tokens = align_tokens; /* there is one size of block that states are saved at */
    }
    return group;
}

static void draw_layout(sli_rng *rng, int64_t block_tokens, sli_layout *layout) {
    bool has_large_blocks = sli_draw_once_in(rng, 3);
    *layout = (sli_layout){.page_bytes = 1, .align_tokens = block_tokens, .is_shareable = true};
    layout->groups[layout->group_count++] = (sli_group){
        .kind = SLI_GROUP_GROWING,
        .block_tokens = block_tokens,
        .block_pages = sli_draw_once_in(rng, 5) ? 0 : sli_draw_between(rng, 1, 2),
    };
    int64_t others = sli_draw_between(rng, layout->groups[0].block_pages > 0 ? 0 : 1, 3);
    layout->align_tokens *= has_large_blocks && others > 0 ? 2 : 1;
    for (int64_t i = 0; i < others; i++) {
        sli_group group = draw_group(rng, block_tokens, layout->align_tokens);
        layout->is_shareable = layout->is_shareable && group.kind != SLI_GROUP_FIXED;
        layout->groups[layout->group_count++] = group;
    }
}

/* Pages that a context of the longest length ever could hold, if windows did not move. */
static int64_t pages_in_full(const sli_layout *layout, int64_t tokens) {
    int64_t pages = 0;
    for (int i = 0; i < layout->group_count; i++) {
        const sli_group *group = &layout->groups[i];
        int64_t blocks = units_for(tokens, group->block_tokens);
        pages += group->block_pages * (blocks > group->fixed_blocks ? blocks : group->fixed_blocks);
    }
    return pages;
}

/* For as many tokens as the pool of the plain world, in whole blocks. */
static void size_pool(sli_small_world *world) {
    int64_t block_tokens = world->engine.pool.block_tokens;
    int64_t most_tokens = min_of(world->plain_tokens, world->engine.max_model_tokens);
    world->engine.pool.block_count = pages_in_full(
        &world->layout, block_tokens * units_for(most_tokens, block_tokens));
}

/* Of so many rows or none: a cap that is reached or not. */
static int64_t draw_cap(sli_rng *rng) {
    return sli_draw_once_in(rng, 3) ? INT64_MAX : sli_draw_between(rng, 1, 40);
}

sl_kept sli_draw_kept(sli_rng *rng) {
    sl_kept kept = {.is_rolling = sli_draw_once_in(rng, 2), .share_ppm = SL_WHOLE_PPM};
    if (sli_draw_once_in(rng, 2)) {
        kept.cap_rows = sli_draw_between(rng, 1, 40);
        kept.drop_rows = sli_draw_once_in(rng, 3) ? 1 : sli_draw_between(rng, 1, kept.cap_rows);
        return kept;
    }
    if (!sli_draw_once_in(rng, 3)) {
        kept.share_ppm = sli_draw_between(rng, 1, SL_WHOLE_PPM);
    }
    kept.cap_rows = draw_cap(rng);
    kept.row_tokens = sli_draw_once_in(rng, 4) ? INT64_MAX : sli_draw_between(rng, 1, 6);
    return kept;
}

static void throw_out(sli_rng *rng, sli_small_world *world) {
    sli_layout *layout = &world->layout;
    world->kept = sli_draw_kept(rng);
    if (sli_draw_once_in(rng, 2)) { /* nothing else */
        layout->group_count = 1;
        layout->groups[0].block_pages = 0;
    }
    layout->is_shareable = false;
    layout->groups[layout->group_count++] = (sli_group){
        .kind = SLI_GROUP_KEPT,
        .block_tokens = draw_block_tokens(rng, layout->groups[0].block_tokens,
                                          layout->align_tokens),
        .block_pages = sli_draw_between(rng, 1, 3),
    };
}

void sli_small_world_regroup(sli_small_world *world, sli_layers layers, const sl_policy *policy) {
    sli_rng rng;
    if (layers == SLI_LAYERS_FULL) {
        return;
    }
    sli_rng_init(&rng, world->number, "small layout", 0, 0);
    sli_pool_config *pool = &world->engine.pool;
    bool has_budget = (policy->capabilities & SL_CAP_NO_TOKEN_BUDGET) == 0;
    world->step_tokens = has_budget ? world->engine.max_batched_tokens : INT64_MAX / 2;
    world->has_layout = true;
    draw_layout(&rng, pool->block_tokens, &world->layout);
    if (layers == SLI_LAYERS_KEPT) {
        sli_rng_init(&rng, world->number, "small kept", 0, 0);
        throw_out(&rng, world);
    }
    pool->has_index = pool->has_index && world->layout.is_shareable;
    world->plain_tokens = pool->block_count * pool->block_tokens;
    size_pool(world);
}

/* Slots of a step from one token to another. */
static int64_t kept_slots(const sl_kept *kept, int64_t prompt_tokens, int64_t from, int64_t to) {
    int64_t prompt = min_of(units_for(min_of(to, prompt_tokens) * kept->share_ppm, 1000000),
                            kept->cap_rows);
    int64_t behind = to > prompt_tokens ? to - prompt_tokens : 0;
    if (from < prompt_tokens && !kept->is_rolling) {
        return to;
    }
    return kept->drop_rows > 0 ? min_of(to, kept->cap_rows) : prompt + behind / kept->row_tokens;
}

/* Whether a request could hold so many tokens with the pool to itself, in whatever steps. */
static bool fits_groups(const sli_small_world *world, int64_t prompt_tokens, int64_t tokens) {
    for (int64_t from = 0; from < tokens; from++) {
        int64_t to = min_of(tokens, from + world->step_tokens);
        int64_t pages = 0;
        for (int i = 0; i < world->layout.group_count; i++) {
            const sli_group *group = &world->layout.groups[i];
            int64_t first = 0;
            int64_t end = units_for(to, group->block_tokens);
            if (group->kind == SLI_GROUP_SLIDING && from >= group->span_tokens) {
                first = (from - group->span_tokens + 1) / group->block_tokens;
            } else if (group->kind == SLI_GROUP_CHUNKED) {
                first = from / group->span_tokens * group->span_tokens / group->block_tokens;
            } else if (group->kind == SLI_GROUP_STATE) {
                first = from == 0 || units_for(from, group->block_tokens) == end ? end - 1
                                                                                 : end - 2;
            } else if (group->kind == SLI_GROUP_FIXED) {
                end = group->fixed_blocks;
            } else if (group->kind == SLI_GROUP_KEPT) {
                end = units_for(kept_slots(&world->kept, prompt_tokens, from, to),
                                group->block_tokens);
            }
            pages += (end - first) * group->block_pages;
        }
        if (pages > world->engine.pool.block_count) {
            return false;
        }
    }
    return true;
}

sli_small_world sli_small_world_plain(void) {
    return (sli_small_world){
        .replica_count = 1,
        .engine = {.max_batched_tokens = 8,
                   .max_seqs = 4,
                   .max_model_tokens = 1000,
                   .keeps_promises = true,
                   .pool = {.block_count = 10, .block_tokens = 4}},
        .route = "round_robin",
        .cost = {.step_ns = 10},
    };
}

void sli_small_world_add(sli_small_world *world, int64_t at_ns, int64_t prompt_tokens,
                         int64_t output_tokens) {
    world->requests[world->request_count++] = (sli_small_request){
        .delay_ns = at_ns,
        .patience_ns = SLI_NEVER,
        .desc = {.prompt_tokens = prompt_tokens, .output_tokens = output_tokens},
    };
}

int64_t sli_small_served_tokens(const sli_small_world *world, const sl_request_desc *desc) {
    int64_t room_tokens = world->engine.max_model_tokens - desc->prompt_tokens;
    int64_t output_tokens = desc->output_tokens;
    if (output_tokens > room_tokens && world->over_length == SLI_OVER_LENGTH_TRUNCATE) {
        output_tokens = room_tokens;
    }
    const sli_pool_config *pool = &world->engine.pool;
    int64_t slots = desc->prompt_tokens + output_tokens - 1;
    bool is_served = output_tokens >= 1 && output_tokens <= room_tokens &&
                     (world->has_layout ? fits_groups(world, desc->prompt_tokens, slots)
                                        : slots <= pool->block_count * pool->block_tokens);
    return is_served ? output_tokens : 0;
}

const sl_policy *sli_builtin_policy(sl_policy_kind kind, const char *name) {
    for (const sl_policy_table *const *table = sl_builtin_policies; *table != NULL; table++) {
        for (size_t i = 0; i < (*table)->count; i++) {
            const sl_policy *policy = (*table)->policies[i];
            if (policy->kind == kind && strcmp(policy->name, name) == 0) {
                return policy;
            }
        }
    }
    return NULL;
}
