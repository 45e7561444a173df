/*
 * An independent reading of vLLM v1's scheduler, to compare the simulator with.
 *
 * One replica, written for plainness: arrays, linear search, prompts compared token by token. It
 * shares no code with the engine, the pool or the policy. Follows schedule() and, for models with
 * states, _mamba_block_aligned_split() of vllm/v1/core/sched/scheduler.py and allocate_slots() of
 * kv_cache_manager.py; the blocks are those of vllm_blocks.h. Rules of ours: what a preempted
 * request was to compute in this very step cannot be found, a chunk that cannot end with a block is
 * scheduled as it is, and windows give back at the end of a step. Cancellation is not modelled.
 */
#ifndef TESTS_CONFORM_VLLM_MODEL_H
#define TESTS_CONFORM_VLLM_MODEL_H

#include "small_world.h"

typedef struct sli_vllm_options {
    int64_t long_prefill_tokens; /* 0 = none */
    bool chunks_prefill;
    bool reserves_full_prompt;
} sli_vllm_options;

enum { SLI_VLLM_LOG = 8192 };

/* Plays the world to its end and writes the transitions in order; answers how many. */
size_t sli_vllm_model_run(const sli_small_world *world, const sli_vllm_options *options,
                          sl_transition log[SLI_VLLM_LOG]);

#endif
