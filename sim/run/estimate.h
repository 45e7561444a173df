/*
 * What requests of one length cost a model in bytes, and in the time to move them.
 *
 * Floor run. Pure arithmetic: logical bytes over all ranks (model/state.h, model/params.h), what
 * has to be computed (model/attention.h), and what lies on the fullest rank of a placement
 * (model/placement.h) by the memory rule of kv/budget.h, in the pages of kv/layout.h and with the
 * batch limits that a scenario has when it says nothing. Times are lower bounds: bytes over
 * bandwidth. Must not know how figures are written. No memory; O(layer runs x stages).
 */
#ifndef SLUICE_RUN_ESTIMATE_H
#define SLUICE_RUN_ESTIMATE_H

#include "hw/device.h"
#include "kv/layout.h"
#include "model/attention.h"
#include "model/placement.h"

/* Bounds of a query, for who reads one. */
enum {
    SLI_ESTIMATE_TOKENS_MAX = 1 << 26,
    SLI_ESTIMATE_REQUESTS_MAX = 1 << 20,
    SLI_ESTIMATE_RANKS_MAX = 1 << 10, /* of each degree */
    SLI_ESTIMATE_BLOCK_MAX = 1 << 16,
};

typedef struct sli_estimate_query {
    const sli_architecture *architecture; /* where a method throws tokens out, the cut one */
    const char *keep;       /* that method and its settings, for who prints it; NULL = none */
    const char *keep_words; /* and what it leaves */
    const sli_cache_format *cache;
    const sli_weight_format *weights;        /* of all; NULL = as the model is published */
    const sli_weight_format *expert_weights; /* of routed experts; NULL = by the above */
    const sli_device *device;                /* NULL = none: nothing has to fit */
    int64_t tokens;        /* of each request; to a method all but the last are prompt */
    int64_t requests;      /* at the same time */
    int64_t shared_tokens; /* that all of them begin with; fewer than tokens */
    sli_placement placement;
    int64_t block_tokens;               /* as a scenario asks for */
    int64_t max_batched_tokens;         /* of a step, likewise */
    sli_window_pages window_pages;      /* the longest context being `tokens` */
    sli_state_saves state_saves;        /* of recurrent layers, for prefixes */
    const sli_attention_kernel *kernel; /* NULL = none: workspace is part of the activations */
    sli_latent_way decode_way;          /* for models with latents */
    sli_latent_way prefill_way;         /* for models with latents */
    int64_t chunk_tokens;               /* of prefill; 0 = the whole prompt at once */
    double bandwidth_bytes_per_s;       /* of the memory of a rank; 0 = that of the device */
    double link_bytes_per_s;            /* 0 = that of the device */
} sli_estimate_query;

/* One request of 32,768 tokens in bf16 on one rank, blocks of 16 tokens, steps of
 * 8,192. The model is missing. */
sli_estimate_query sli_estimate_defaults(void);

/* Why a run would find nothing of a prefix. */
typedef enum sli_unshared {
    SLI_UNSHARED_NOTHING, /* it finds some */
    SLI_UNSHARED_SHORT,   /* the prefix is shorter than a block */
    SLI_UNSHARED_KEPT,    /* what a method leaves depends on the whole prompt */
    SLI_UNSHARED_WAITING, /* rows that wait in bf16 to be quantised cannot be shared */
    SLI_UNSHARED_WINDOWS, /* nor can the pages of reserved windows */
    SLI_UNSHARED_STATES,  /* no state of recurrent layers is saved */
} sli_unshared;

/* A prefix can be continued where blocks of all layers end together. */
typedef struct sli_estimate_sharing {
    int64_t tokens;       /* of the prefix that are found at most */
    int64_t block_tokens; /* that they are a multiple of */
    sli_unshared why;     /* there are none */
} sli_estimate_sharing;

/* The cache, over all ranks, nothing being copied. */
typedef struct sli_estimate_cache {
    double token_bytes;    /* that a token adds when all windows are full */
    int64_t growing_bytes; /* of a request: what has come with its tokens */
    int64_t fixed_bytes;   /* of a request: what was there from the start */
    int64_t request_bytes; /* both */
    int64_t prefix_bytes;  /* of what is found of the prefix, as far as a request still keeps it */
    int64_t apart_bytes;   /* of all requests, nothing shared */
    int64_t total_bytes;   /* of all requests, the prefix once */
    int64_t saved_bytes;   /* the difference */
} sli_estimate_cache;

typedef struct sli_estimate_weights {
    int64_t params;
    int64_t token_params; /* that a token is multiplied with */
    int64_t bytes;
} sli_estimate_weights;

/* FLOPs over all ranks. Linear ones are those of the matrices; of a prefill the head works for the
 * last token alone. */
typedef struct sli_estimate_work {
    double decode_linear_flops; /* of a step of all requests */
    double decode_attention_flops;
    double prefill_linear_flops; /* of one prompt of all tokens */
    double prefill_attention_flops;
    bool has_latents;
    sli_latent_way decode_way;  /* with latents: the one that is counted */
    sli_latent_way prefill_way; /* with latents: the one that is counted */
    int64_t remade_tokens; /* latents of the prefix that chunks of an expanded prefill expand */
    double prefill_attention_ns; /* at the share of the kernel; -1 without kernel or device */
} sli_estimate_work;

/* One decode step of all requests. Times are -1 without a bandwidth. With stages a step goes
 * through one after another, so pp does not shorten it. */
typedef struct sli_estimate_step {
    double bandwidth_bytes_per_s; /* 0 = unknown */
    double cache_bytes;           /* moved on all ranks; fixed state twice, as it is rewritten */
    double weights_bytes;         /* expected to be touched; copies on ranks not counted */
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

/*
 * The fullest rank: of the stage that has room for the fewest requests, and least left over. All
 * zero without a device.
 *
 * Communication buffers come out of what is kept for the driver and libraries, where they find
 * place. Where layers keep nothing there are no pages (page_bytes is 0).
 */
typedef struct sli_estimate_fit {
    int64_t stage; /* of pp */
    int64_t capacity_bytes;
    int64_t usable_bytes;
    int64_t weights_bytes;
    int64_t activation_bytes;
    int64_t workspace_bytes; /* of the kernel that was asked for */
    int64_t
        expanded_bytes; /* keys and values made of latents, where a kernel or way is asked for */
    int64_t buffers_bytes;
    int64_t graphs_bytes;
    int64_t other_bytes; /* besides the buffers */
    int64_t room_bytes;  /* left for the cache; negative when the rest does not fit */
    int64_t page_bytes;  /* of the pool that all layers share */
    bool has_unit;       /* a page is only the unit of blocks of several sizes */
    int size_count;      /* of the pages that vLLM would have a pool for each of */
    int64_t sizes_bytes[SLI_PAGE_SIZE_MAX]; /* as in kv/layout.h */
    int64_t block_tokens;                   /* of the layers that grow; 0 when none does */
    int64_t pages;                          /* that there is room for */
    int64_t request_pages; /* that a request ever holds while it decodes, at most */
    int64_t cache_bytes;   /* of all requests of the rank, with what pages waste */
    int64_t wasted_bytes;  /* of them: unfilled slots, padding, windows not given back */
    int64_t state_bytes;   /* of them: state of fixed size */
    int64_t prompt_bytes;  /* besides, while one prompt is computed that tokens are thrown out of */
    int64_t max_requests;  /* on all ranks; SLI_UNBOUNDED where one keeps nothing of its own */
    bool is_met;           /* all requests fit */
} sli_estimate_fit;

typedef struct sli_estimate {
    sli_estimate_sharing sharing; /* all zero without a prefix */
    sli_estimate_cache cache;
    sli_estimate_weights weights;
    sli_estimate_work work;
    sli_estimate_step step;
    sli_estimate_handoff handoff;
    sli_estimate_fit fit;
} sli_estimate;

/* What cannot be asked (a prefix as long as the request, a placement that the model does not have,
 * ways of latents without any, a format of experts without any, parts of a context that tokens are
 * thrown out of, blocks that its layers cannot lie in, amounts beyond 2^62 bytes) goes to diag
 * (SL_ERR_CONFIG). */
SL_NODISCARD sl_err sli_estimate_find(const sli_estimate_query *query, sli_diag *diag,
                                      sli_estimate *estimate);

/* The fullest rank alone, for a query with a device; estimate_fit.c. */
SL_NODISCARD sl_err sli_estimate_fit_find(const sli_estimate_query *query, sli_diag *diag,
                                          sli_estimate_fit *fit);

/* Whether all requests fit on every rank, for a query with a device that sli_estimate_find has
 * answered, also with another placement. O(layer runs x stages), less when they do not. */
bool sli_estimate_fits(const sli_estimate_query *query);

/* The formats that a query comes to. */
sli_weights sli_estimate_weight_formats(const sli_estimate_query *query);

/* The query with weights as its model is published. */
sli_estimate_query sli_estimate_as_published(const sli_estimate_query *query);

/* Bytes of all weights of a query, as sli_estimate_find says. */
int64_t sli_estimate_all_weights_bytes(const sli_estimate_query *query);

enum {
    SLI_PLACEMENTS_MAX = 2,
    SLI_PLACEMENT_DEVICES_MAX = 128, /* for tp and pp */
};

/* The fewest of the query's devices on which all requests fit, tp one of 1, 2, 4, 8 and 16, pp any
 * number of stages, or a power of two as well, and the other degrees as they are asked for: the
 * ways to place them with the widest tp, and how many of these. 0 = not even on the most. The query
 * must have been answered by sli_estimate_find. estimate_placements.c */
size_t sli_estimate_placements(const sli_estimate_query *query, bool in_powers_of_two,
                               sli_placement placements[SLI_PLACEMENTS_MAX]);

#endif
