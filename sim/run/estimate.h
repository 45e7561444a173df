/*
 * What requests of one length cost a model in bytes, and in the time to move them.
 *
 * Floor run. Pure arithmetic over model/state.h and model/params.h: logical bytes over all ranks,
 * and what lies on the fullest rank by the memory rule of kv/budget.h, in the blocks and with the
 * batch limits that a scenario has when it says nothing. Times are lower bounds: bytes over
 * bandwidth. Must not know how figures are written. No memory; O(runs x stages).
 *
 * A rank holds whole heads (copied where there are fewer than ranks) of the layers of its stage;
 * weights are taken to be cut evenly over all ranks.
 */
#ifndef SLUICE_RUN_ESTIMATE_H
#define SLUICE_RUN_ESTIMATE_H

#include "hw/device.h"
#include "kv/budget.h"
#include "model/architecture.h"

/* Bounds of a query, for who reads one. */
enum {
    SLI_ESTIMATE_TOKENS_MAX = 1 << 26,
    SLI_ESTIMATE_REQUESTS_MAX = 1 << 20,
    SLI_ESTIMATE_RANKS_MAX = 1 << 10, /* of tp, and of pp */
};

typedef struct sli_estimate_query {
    const sli_architecture *architecture;
    const sli_cache_format *cache;
    const sli_weight_format *weights;
    const sli_device *device; /* NULL = none: nothing has to fit */
    int64_t tokens;           /* of each request */
    int64_t requests;         /* at the same time */
    int64_t shared_tokens;    /* that all of them begin with; fewer than tokens */
    int64_t tp;
    int64_t pp;                   /* at most the layers of the model */
    double bandwidth_bytes_per_s; /* of the memory of a rank; 0 = that of the device */
    double link_bytes_per_s;      /* 0 = that of the device */
} sli_estimate_query;

/* The cache, over all ranks. */
typedef struct sli_estimate_cache {
    double token_bytes;    /* that a token adds when all windows are full */
    int64_t growing_bytes; /* of a request: what has come with its tokens */
    int64_t fixed_bytes;   /* of a request: what was there from the start */
    int64_t request_bytes; /* both */
    int64_t prefix_bytes;  /* of the shared prefix, as far as a request still keeps it */
    int64_t apart_bytes;   /* of all requests, nothing shared */
    int64_t total_bytes;   /* of all requests, the prefix once */
    int64_t saved_bytes;   /* the difference */
} sli_estimate_cache;

typedef struct sli_estimate_weights {
    int64_t params;
    int64_t token_params; /* that a token is multiplied with */
    int64_t bytes;
} sli_estimate_weights;

/* One decode step of all requests. Times are -1 without a bandwidth. With stages a step goes
 * through one after another, so pp does not shorten it. */
typedef struct sli_estimate_step {
    double bandwidth_bytes_per_s; /* 0 = unknown */
    double cache_bytes;           /* moved on all ranks; fixed state twice, as it is rewritten */
    double weights_bytes;         /* expected to be touched, on all ranks */
    double cache_ns;              /* on the slowest ranks */
    double weights_ns;
    double floor_ns; /* both */
} sli_estimate_step;

/* One request, from the ranks that computed its prompt to those that decode it. */
typedef struct sli_estimate_handoff {
    double link_bytes_per_s; /* 0 = unknown */
    int64_t bytes;
    double ns; /* over one link; -1 without one */
} sli_estimate_handoff;

#define SLI_UNBOUNDED INT64_MAX

/* The fullest rank; all zero without a device. */
typedef struct sli_estimate_fit {
    int64_t capacity_bytes;
    int64_t usable_bytes;
    int64_t weights_bytes;
    int64_t activation_bytes;
    int64_t graphs_bytes;
    int64_t other_bytes;
    int64_t room_bytes;   /* left for the cache; negative when the rest does not fit */
    int64_t cache_bytes;  /* of all requests, in whole blocks unless rows wait in bf16 */
    int64_t max_requests; /* SLI_UNBOUNDED where a request keeps nothing of its own */
    bool is_met;          /* all requests fit */
} sli_estimate_fit;

typedef struct sli_estimate {
    sli_estimate_cache cache;
    sli_estimate_weights weights;
    sli_estimate_step step;
    sli_estimate_handoff handoff;
    sli_estimate_fit fit;
} sli_estimate;

/* What cannot be asked (a prefix as long as the request, more stages than layers, amounts beyond
 * 2^62 bytes) goes to diag (SL_ERR_CONFIG). */
SL_NODISCARD sl_err sli_estimate_find(const sli_estimate_query *query, sli_diag *diag,
                                      sli_estimate *estimate);

typedef struct sli_placement {
    int64_t tp;
    int64_t pp;
} sli_placement;

enum {
    SLI_PLACEMENTS_MAX = 2,
    SLI_PLACEMENT_TP_MAX = 16,
    SLI_PLACEMENT_RANKS_MAX = 128,
};

/* The fewest ranks of the query's device, in powers of two, on which all requests fit: the ways
 * to place them with the widest tp, and how many of these. 0 = not even on the most. The query
 * must have been answered by sli_estimate_find. */
size_t sli_estimate_placements(const sli_estimate_query *query,
                               sli_placement placements[SLI_PLACEMENTS_MAX]);

#endif
