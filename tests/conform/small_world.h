/*
 * A small world: a cluster, a script of requests and a policy's parameters, drawn at random.
 *
 * Small enough that blocks, seats and budgets run out all the time, on a coarse grid of time so
 * that arrivals, cancellations and ends of steps tie. A world is a function of its number alone.
 * Plain data; nothing to free.
 */
#ifndef TESTS_CONFORM_SMALL_WORLD_H
#define TESTS_CONFORM_SMALL_WORLD_H

#include "cluster/cluster.h"
#include "cost/fixed.h"
#include "kernel/rng.h"

enum { SLI_SMALL_REQUESTS = 32, SLI_SMALL_IDS = 24, SLI_SMALL_GRID_NS = 10 };

/* What the layers of its model keep: every token, windows and states beside that, or what is left
 * of thrown out tokens. */
typedef enum sli_layers {
    SLI_LAYERS_FULL,
    SLI_LAYERS_GROUPS,
    SLI_LAYERS_KEPT,
    SLI_LAYERS_COUNT
} sli_layers;

typedef struct sli_small_request {
    int64_t delay_ns;     /* open loop: when it arrives; closed: after the end that it waits for */
    int64_t patience_ns;  /* its client leaves so long after its arrival; SLI_NEVER = stays */
    sl_request_desc desc; /* content.ids is set where it is used: worlds may be copied */
    uint64_t ids[SLI_SMALL_IDS];
} sli_small_request;

typedef struct sli_small_world {
    uint64_t number;
    uint32_t replica_count;
    sli_engine_config engine; /* whose pool gets the layout where it is used */
    bool has_layout;
    sli_layout layout;
    sl_kept kept; /* of its kept group, which is told where it is used: worlds may be copied */
    int64_t plain_tokens; /* with a layout: slots of the pool without one */
    int64_t step_tokens;  /* with a layout: most that a policy computes of one request in a step */
    sli_over_length over_length;
    const char *route;
    sli_fixed_config cost;
    int concurrency; /* of a closed loop; 0 = open */
    int request_count;
    sli_small_request requests[SLI_SMALL_REQUESTS];
} sli_small_world;

void sli_small_world_draw(uint64_t number, sli_small_world *world);

/* The same world for a model with other layers than those of full attention, and a pool to match:
 * windows, chunks, states and fixed numbers of blocks, or layers whose tokens are thrown out, alone
 * or beside those. */
void sli_small_world_regroup(sli_small_world *world, sli_layers layers, const sl_policy *policy);

/* A world of nothing but round figures and no requests, for scenarios worked by hand: one replica,
 * 10 blocks of 4 tokens, no index, 8 tokens and 4 seats a step, and every step takes 10 ns. */
sli_small_world sli_small_world_plain(void);

/* Appends a request with private contents. */
void sli_small_world_add(sli_small_world *world, int64_t at_ns, int64_t prompt_tokens,
                         int64_t output_tokens);

/* A rule for thrown out tokens, of any form that there is. */
sl_kept sli_draw_kept(sli_rng *rng);

/* Uniform in low .. high, both inclusive. */
int64_t sli_draw_between(sli_rng *rng, int64_t low, int64_t high);

/* True once in so many times. */
bool sli_draw_once_in(sli_rng *rng, uint64_t times);

/* The output length that a request is served with, cut to the context limit if the world does
 * that; 0 when it can never be served. By the rule of the engine's page, counted by hand. */
int64_t sli_small_served_tokens(const sli_small_world *world, const sl_request_desc *desc);

/* A policy that is built into the program; NULL if there is none of that name. */
const sl_policy *sli_builtin_policy(sl_policy_kind kind, const char *name);

#endif
