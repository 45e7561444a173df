#include "worlds.h"

#include "impatience.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SERVED                                                                                     \
    "model: llama-3.1-8b\n"                                                                        \
    "hardware: h100-sxm\n"                                                                         \
    "slo: {ttft: 40 ms, tpot: 12 ms}\n"                                                            \
    "output: {dir: none}\n"

static const sli_law_world worlds[] = {
    {
        .name = "poisson, room for all",
        .has_budget = true,
        .text = SERVED "workload: {source: poisson, rate: 20 /s, requests: 1500,\n"
                       "  prompt: {lognormal: {mean: 1000 tokens, cv: 1}},\n"
                       "  output: {exponential: {mean: 60 tokens}}}\n",
    },
    {
        .name = "small budget, cut prompts, few seats",
        .has_budget = true,
        .text = SERVED "engine: {max_batched_tokens: 96 tokens, max_seqs: 6}\n"
                       "prefix: {index: none}\n"
                       "workload: {source: poisson, rate: 3 /s, requests: 400,\n"
                       "  prompt: {uniform: {min: 1 tokens, max: 900 tokens}},\n"
                       "  output: {uniform: {min: 1 tokens, max: 40 tokens}}}\n",
    },
    {
        .name = "few blocks, no index",
        .is_tight = true,
        .has_budget = true,
        .text = SERVED "cost: {fixed: {step: 5 ms, token: 10 us, sequence: 100 us}}\n"
                       "engine: {max_batched_tokens: 512 tokens}\n"
                       "memory: {kv_blocks: 120}\n"
                       "prefix: {index: none}\n"
                       "workload: {source: poisson, rate: 4 /s, requests: 500,\n"
                       "  prompt: {uniform: {min: 20 tokens, max: 600 tokens}},\n"
                       "  output: {uniform: {min: 1 tokens, max: 300 tokens}}}\n",
    },
    {
        .name = "few blocks, shared prompts, priorities",
        .is_tight = true,
        .is_shared = true,
        .has_budget = true,
        .text = SERVED
        "cost: {fixed: {step: 5 ms, token: 10 us}}\n"
        "engine: {max_batched_tokens: 700 tokens, order: priority, watermark: 0.02}\n"
        "memory: {kv_blocks: 150}\n"
        "workload: {source: poisson, rate: 6 /s, requests: 500,\n"
        "  prompt: {uniform: {min: 20 tokens, max: 500 tokens}},\n"
        "  output: {uniform: {min: 1 tokens, max: 250 tokens}},\n"
        "  system_prompts: {count: 4, length: 320 tokens},\n"
        "  priorities: [[0.3, 0], [0.7, 5]]}\n",
    },
    {
        .name = "closed loop on few blocks",
        .is_tight = true,
        .has_budget = true,
        .text = SERVED "memory: {kv_blocks: 200}\n"
                       "engine: {max_batched_tokens: 1024 tokens}\n"
                       "workload: {source: closed, concurrency: 24, requests: 400,\n"
                       "  start_jitter: 2 s,\n"
                       "  prompt: {uniform: {min: 20 tokens, max: 900 tokens}},\n"
                       "  output: {uniform: {min: 1 tokens, max: 300 tokens}}}\n",
    },
    {
        .name = "orca",
        .text = SERVED "engine: {policy: orca, max_seqs: 8, max_model_len: 2048 tokens}\n"
                       "prefix: {index: none}\n"
                       "workload: {source: poisson, rate: 8 /s, requests: 500,\n"
                       "  prompt: {uniform: {min: 20 tokens, max: 1500 tokens}},\n"
                       "  output: {uniform: {min: 1 tokens, max: 200 tokens}}}\n",
    },
    {
        .name = "three replicas, one queue",
        .has_budget = true,
        .text = SERVED "replicas: {count: 3}\n"
                       "route: shared\n"
                       "engine: {max_seqs: 4}\n"
                       "workload: {source: poisson, rate: 12 /s, requests: 600,\n"
                       "  prompt: {lognormal: {mean: 2000 tokens, cv: 1}},\n"
                       "  output: {exponential: {mean: 80 tokens}}}\n",
    },
    {
        .name = "three replicas, balanced, some requests too long",
        .has_rejects = true,
        .is_shared = true,
        .has_budget = true,
        .text = SERVED "replicas: {count: 3}\n"
                       "route: least_outstanding\n"
                       "engine: {max_model_len: 4096 tokens, max_seqs: 8}\n"
                       "workload: {source: poisson, rate: 30 /s, requests: 800,\n"
                       "  prompt: {lognormal: {mean: 2000 tokens, cv: 1}},\n"
                       "  output: {exponential: {mean: 80 tokens}},\n"
                       "  system_prompts: {count: 10, length: 512 tokens}}\n",
    },
    {
        .name = "clients that go away",
        .patience_ns = 5000000000,
        .is_tight = true,
        .has_budget = true,
        .text = SERVED "replicas: {count: 2}\n"
                       "cost: {fixed: {step: 5 ms, token: 10 us}}\n"
                       "engine: {max_batched_tokens: 512 tokens}\n"
                       "memory: {kv_blocks: 120}\n"
                       "workload: {source: poisson, rate: 8 /s, requests: 600,\n"
                       "  prompt: {uniform: {min: 20 tokens, max: 600 tokens}},\n"
                       "  output: {uniform: {min: 1 tokens, max: 300 tokens}}}\n",
    },
    {
        .name = "clients that go away from one queue",
        .patience_ns = 3000000000,
        .has_budget = true,
        .text = SERVED "replicas: {count: 2}\n"
                       "route: shared\n"
                       "engine: {max_seqs: 2}\n"
                       "workload: {source: poisson, rate: 8 /s, requests: 600,\n"
                       "  prompt: {uniform: {min: 20 tokens, max: 900 tokens}},\n"
                       "  output: {uniform: {min: 1 tokens, max: 300 tokens}}}\n",
    },
    {
        .name = "two replicas, few blocks, stopped in the middle",
        .is_cut = true,
        .is_tight = true,
        .has_budget = true,
        .text = SERVED "replicas: {count: 2}\n"
                       "cost: {fixed: {step: 5 ms, token: 10 us}}\n"
                       "engine: {max_batched_tokens: 512 tokens}\n"
                       "memory: {kv_blocks: 120}\n"
                       "run: {until: 30 s}\n"
                       "workload: {source: poisson, rate: 12 /s, requests: 5000,\n"
                       "  prompt: {uniform: {min: 20 tokens, max: 600 tokens}},\n"
                       "  output: {uniform: {min: 1 tokens, max: 300 tokens}}}\n",
    },
    {
        .name = "one queue, stopped in the middle",
        .is_cut = true,
        .has_budget = true,
        .text = SERVED "replicas: {count: 2}\n"
                       "route: shared\n"
                       "engine: {max_seqs: 2}\n"
                       "run: {until: 60 s}\n"
                       "workload: {source: poisson, rate: 20 /s, requests: 5000,\n"
                       "  prompt: {uniform: {min: 20 tokens, max: 900 tokens}},\n"
                       "  output: {uniform: {min: 1 tokens, max: 300 tokens}}}\n",
    },
};

enum { WORLD_COUNT = sizeof worlds / sizeof worlds[0] };

static sli_law_run runs[WORLD_COUNT];

static void run_world(const sli_law_world *world, sli_law_run *run) {
    run->world = world;
    sli_simulation_open(world->text, NULL, &run->simulation);
    sl_probe probe = sli_history_probe(&run->history);
    if (world->patience_ns > 0) {
        sli_simulation_run_impatient(&run->simulation, &probe, world->patience_ns);
    } else {
        sli_simulation_run(&run->simulation, &probe);
    }
}

int sli_worlds_open(void **state) {
    (void)state;
    for (int i = 0; i < WORLD_COUNT; i++) {
        run_world(&worlds[i], &runs[i]);
    }
    return 0;
}

int sli_worlds_close(void **state) {
    (void)state;
    for (int i = 0; i < WORLD_COUNT; i++) {
        sli_history_fini(&runs[i].history);
        sli_simulation_fini(&runs[i].simulation);
    }
    return 0;
}

static const sli_law_world *world_under_law; /* NULL when it held */

void sli_hold_worlds_to(sli_law *law) {
    for (int i = 0; i < WORLD_COUNT; i++) {
        world_under_law = &worlds[i];
        law(&runs[i]); /* a failure leaves from here */
    }
    world_under_law = NULL;
}

int sli_worlds_blame(void **state) {
    (void)state;
    if (world_under_law != NULL) {
        print_error("in the world '%s'\n", world_under_law->name);
    }
    world_under_law = NULL;
    return 0;
}
