#include "adapt.h"

void sli_adapt_vllm_v1(const sl_policy *policy, sli_rng *rng, sli_small_world *world,
                       void *values) {
    bool chunks = !sli_draw_once_in(rng, 4);
    bool has_threshold = sli_draw_once_in(rng, 3);
    sli_set_param(policy, values, "chunked_prefill", chunks);
    sli_set_param(policy, values, "full_prompt_fits", sli_draw_once_in(rng, 3));
    sli_set_param(policy, values, "long_prefill_threshold",
                  has_threshold ? sli_draw_between(rng, 1, 24) : 0);
    for (int i = 0; !chunks && i < world->request_count; i++) {
        const sl_request_desc *desc = &world->requests[i].desc;
        int64_t longest_tokens = desc->prompt_tokens + desc->output_tokens - 1;
        if (world->engine.max_batched_tokens < longest_tokens) {
            world->engine.max_batched_tokens = longest_tokens;
        }
    }
}

void sli_adapt_orca(const sl_policy *policy, sli_rng *rng, sli_small_world *world, void *values) {
    (void)policy;
    (void)values;
    sli_pool_config *pool = &world->engine.pool;
    pool->has_index = false;
    int64_t pool_tokens = pool->block_count * pool->block_tokens;
    world->engine.max_model_tokens = sli_draw_between(rng, 1 + pool_tokens / 6, pool_tokens);
}
