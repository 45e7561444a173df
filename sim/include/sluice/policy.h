/*
 * How a policy is written. It is the only header that a policy needs.
 *
 * A policy is one C file that ends in one constant descriptor: who it is, its parameters, how much
 * state it wants, and one function that decides. The core keeps all the books: it allocates the
 * instance, fills its parameters from the scenario, checks every decision and acts on it. A policy
 * never allocates KV, moves requests or schedules events, so it cannot corrupt a run; what it asks
 * for against the rules ends the run with a message that names the policy, the rule and the time.
 *
 * policies/TEMPLATE.c is a complete small policy to copy. It builds into the program or, unchanged,
 * into a shared object:  cc -shared -fPIC -DSL_POLICY_PLUGIN -Isim/include mine.c -o mine.so
 *
 * Borrowed pointers (requests, views) are valid during the decision only. Every call is O(1) unless
 * it says otherwise. All calls go through tables that the host hands in, so a shared object links
 * against nothing.
 */
#ifndef SLUICE_POLICY_H
#define SLUICE_POLICY_H

#include "sluice/err.h"
#include "sluice/param.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Changes when a struct or a rule below does. */
#define SL_POLICY_ABI 1u

/* ---- What every policy says about itself ---- */

typedef enum sl_policy_kind {
    SL_POLICY_BATCH, /* which requests compute how many tokens in the next step */
    SL_POLICY_ROUTE, /* which replica takes a new request */
    SL_POLICY_KEEP,  /* how many tokens of a request stay in the cache */
    SL_POLICY_KIND_COUNT
} sl_policy_kind;

typedef enum sl_capability {
    /* Plans are not bound by engine.max_batched_tokens. */
    SL_CAP_NO_TOKEN_BUDGET = 1 << 0,
    /* Reserves for the longest context, so sharing blocks through a prefix index is an error. */
    SL_CAP_RESERVES_MAX_LEN = 1 << 1,
} sl_capability;

/* The deployment that an instance decides for; constant during a run. */
typedef struct sl_policy_env {
    uint32_t replica; /* of this instance; 0 for kind route */
    uint32_t replica_count;
    int64_t max_batched_tokens;
    int64_t max_seqs;
    int64_t max_model_tokens;
    int64_t block_tokens; /* of layers that keep everything */
    int64_t pool_blocks;  /* pages, where layers of several sorts share them: a block may be many */
    int64_t watermark_blocks;
    bool orders_by_priority; /* kind order: priority, else fcfs */
    uint64_t seed;
} sl_policy_env;

/* The head of every descriptor. */
typedef struct sl_policy {
    uint32_t abi;         /* SL_POLICY_ABI */
    uint32_t struct_size; /* of the whole descriptor */
    sl_policy_kind kind;
    const char *name;    /* as scenarios say it: lower case, digits and _ */
    const char *summary; /* one sentence */
    const char *paper;   /* where it is described, or NULL */
    uint32_t capabilities;
    const sl_param *params; /* offsets into the instance */
    size_t param_count;
    size_t instance_bytes; /* zeroed, parameters filled, then init */
    /* Both may be NULL. A refusal (not SL_OK) must explain itself in `why`. */
    sl_err (*init)(void *self, const sl_policy_env *env, char *why, size_t why_bytes);
    void (*fini)(void *self);
} sl_policy;

/* Opens the head of a descriptor: {.policy = {SL_POLICY_HEAD(sl_batch_policy, SL_POLICY_BATCH), */
#define SL_POLICY_HEAD(type, policy_kind)                                                          \
    .abi = SL_POLICY_ABI, .struct_size = sizeof(type), .kind = (policy_kind)

/*
 * Ends a policy file: SL_EXPORT_POLICIES(file_name, &a.policy, &b.policy). Built into the program
 * the table is known by the name of the file; in a shared object always as sl_policies.
 */
typedef struct sl_policy_table {
    uint32_t abi;
    size_t count;
    const sl_policy *const *policies;
} sl_policy_table;

#ifdef SL_POLICY_PLUGIN
#define SL_POLICY_TABLE_NAME(file_name) sl_policies
#define SL_POLICY_TABLE_ATTRIBUTES      __attribute__((visibility("default")))
#else
#define SL_POLICY_TABLE_NAME(file_name) sl_policies_##file_name
#define SL_POLICY_TABLE_ATTRIBUTES
#endif

#define SL_EXPORT_POLICIES(file_name, ...)                                                         \
    extern const sl_policy_table SL_POLICY_TABLE_NAME(file_name);                                  \
    static const sl_policy *const exported_policies[] = {__VA_ARGS__};                             \
    SL_POLICY_TABLE_ATTRIBUTES const sl_policy_table SL_POLICY_TABLE_NAME(file_name) = {           \
        .abi = SL_POLICY_ABI,                                                                      \
        .count = sizeof exported_policies / sizeof exported_policies[0],                           \
        .policies = exported_policies,                                                             \
    }

/* ---- Words ---- */

typedef struct sl_count_text {
    char text[32];
} sl_count_text;

/* A count, at least 0, with its digits in groups of three, as texts say it: 131,072. */
static inline sl_count_text sl_group_digits(int64_t count) {
    sl_count_text said;
    char *end = said.text + sizeof said.text - 1;
    char *start = end;
    *end = '\0';
    for (int digits = 0; digits == 0 || count > 0; digits++, count /= 10) {
        if (digits > 0 && digits % 3 == 0) {
            *--start = ',';
        }
        *--start = (char)('0' + count % 10);
    }
    for (char *to = said.text; start <= end; to++, start++) {
        *to = *start;
    }
    return said;
}

/* ---- Kind batch: the planning conversation ---- */

/* A request, seen through the calls below. */
typedef struct sl_request sl_request;

typedef enum sl_answer_code {
    SL_ANSWER_OK,           /* done and reserved */
    SL_ANSWER_SHORT,        /* blocks are missing; nothing has changed */
    SL_ANSWER_BUDGET,       /* the token budget of the step is too small; nothing has changed */
    SL_ANSWER_SEATS,        /* max_seqs requests are admitted; nothing has changed */
    SL_ANSWER_NOT_ELIGIBLE, /* against the rules; the run ends */
} sl_answer_code;

typedef struct sl_answer {
    sl_answer_code code;
    int32_t group;          /* SHORT: the layer group that is short */
    int64_t tokens;         /* OK: granted */
    int64_t missing_blocks; /* SHORT: how many more would have to be free */
} sl_answer;

typedef enum sl_preempt_mode {
    SL_PREEMPT_RECOMPUTE, /* drop its KV; what the prefix index still holds is found again */
} sl_preempt_mode;

/* What an admission asks for; nothing below 0. Zeroed: as many tokens as the budget allows. */
typedef struct sl_admission {
    int64_t tokens;           /* at most so many this step; 0 = no cap */
    bool all_or_nothing;      /* BUDGET unless everything that is not cached fits this step */
    int64_t reserve_tokens;   /* take blocks for so many tokens at once, all it needs until it has
                                 them; 0 = as it grows */
    int64_t keep_free_blocks; /* SHORT unless so many blocks stay free */
    bool whole_prompt_fits;   /* SHORT unless all its known tokens would fit now */
} sl_admission;

/* What ends a promise made with sl_plan_repeat besides what always does. */
typedef enum sl_disturbance {
    SL_ON_ARRIVAL = 1 << 0, /* a request joins the queue that this replica sees */
} sl_disturbance;

typedef struct sl_plan_view {
    int64_t now_ns;
    int64_t running;     /* admitted requests */
    int64_t prefilling;  /* those that are not decoding: more than their last token is pending */
    int64_t waiting;     /* requests in the queue that this replica sees */
    int64_t seats_left;  /* max_seqs - running */
    int64_t budget_left; /* tokens; INT64_MAX without a budget */
    int64_t planned_tokens;
    int64_t free_blocks; /* cached ones included */
    int64_t pool_blocks;
    bool has_preempted; /* in this plan */
} sl_plan_view;

/* What a policy may know of a request. The true output length is not in it. */
typedef struct sl_request_view {
    uint64_t id;
    int64_t arrival_ns;
    int32_t priority;
    int64_t prompt_tokens;
    int64_t generated_tokens;
    int64_t computed_tokens; /* whose KV exists */
    int64_t pending_tokens;  /* known, not computed, not yet taken in this plan */
    int64_t planned_tokens;  /* taken in this plan */
    int64_t max_tokens;      /* the client's limit on the output */
    int64_t held_blocks;
} sl_request_view;

typedef struct sl_plan sl_plan;

/* The host's side of the conversation; use the inline functions below. */
typedef struct sl_plan_ops {
    void (*view)(const sl_plan *plan, sl_plan_view *view);
    void (*request)(const sl_plan *plan, const sl_request *request, sl_request_view *view);
    int64_t (*cached_tokens)(const sl_plan *plan, const sl_request *waiting);
    sl_request *(*first_running)(const sl_plan *plan);
    sl_request *(*next_running)(const sl_plan *plan, const sl_request *request);
    sl_request *(*last_running)(const sl_plan *plan);
    sl_request *(*first_waiting)(const sl_plan *plan);
    sl_request *(*next_waiting)(const sl_plan *plan, const sl_request *request);
    sl_request *(*victim)(const sl_plan *plan);
    sl_answer (*take_all)(sl_plan *plan, int64_t cap_tokens);
    sl_answer (*decode_all)(sl_plan *plan, int64_t tokens_each);
    sl_answer (*take)(sl_plan *plan, sl_request *running, int64_t tokens);
    sl_answer (*admit)(sl_plan *plan, sl_request *waiting, const sl_admission *admission);
    sl_answer (*preempt)(sl_plan *plan, sl_request *running, sl_preempt_mode mode);
    void (*limit_tokens)(sl_plan *plan, int64_t tokens);
    void (*repeat)(sl_plan *plan, int64_t steps, uint32_t disturbances);
    void (*wake)(sl_plan *plan, int64_t at_ns);
} sl_plan_ops;

struct sl_plan {
    const sl_plan_ops *ops;
};

/* -- looking: about no request (NULL) the answers are zero and NULL -- */

static inline sl_plan_view sl_plan_look(const sl_plan *plan) {
    sl_plan_view view;
    plan->ops->view(plan, &view);
    return view;
}

static inline sl_request_view sl_plan_request(const sl_plan *plan, const sl_request *request) {
    sl_request_view view;
    plan->ops->request(plan, request, &view);
    return view;
}

/* Tokens of a waiting request that the prefix index holds now: at most all but the last one. O(its
 * ids). */
static inline int64_t sl_plan_cached_tokens(const sl_plan *plan, const sl_request *waiting) {
    return plan->ops->cached_tokens(plan, waiting);
}

/* Running requests in the order of their admission; NULL at the end. */
static inline sl_request *sl_plan_first_running(const sl_plan *plan) {
    return plan->ops->first_running(plan);
}

static inline sl_request *sl_plan_next_running(const sl_plan *plan, const sl_request *request) {
    return plan->ops->next_running(plan, request);
}

static inline sl_request *sl_plan_last_running(const sl_plan *plan) {
    return plan->ops->last_running(plan);
}

/* Waiting requests in the order of kind `order`; NULL at the end. Fetch the next one before
 * admitting this one. */
static inline sl_request *sl_plan_first_waiting(const sl_plan *plan) {
    return plan->ops->first_waiting(plan);
}

static inline sl_request *sl_plan_next_waiting(const sl_plan *plan, const sl_request *request) {
    return plan->ops->next_waiting(plan, request);
}

/* The running request that kind `preempt` would give up; NULL if none runs. O(1) for the last one,
 * O(running) for the worst. */
static inline sl_request *sl_plan_victim(const sl_plan *plan) {
    return plan->ops->victim(plan);
}

/* -- acting: each call is checked and reserved at once, wholly or not at all -- */

/*
 * The regular step: every running request in order gets the smaller of its pending tokens, the cap
 * (0 = none) and the budget left; only the last may be cut. BUDGET when another would be cut,
 * SHORT when blocks are missing. O(requests that are not decoding step by step).
 */
static inline sl_answer sl_plan_take_all(sl_plan *plan, int64_t cap_tokens) {
    return plan->ops->take_all(plan, cap_tokens);
}

/* As take_all, for the requests that are decoding, `tokens_each` (1) tokens each. */
static inline sl_answer sl_plan_decode_all(sl_plan *plan, int64_t tokens_each) {
    return plan->ops->decode_all(plan, tokens_each);
}

/*
 * One running request that has nothing in this plan yet: the smallest of `tokens`, its pending
 * tokens and the budget. BUDGET when that is none.
 */
static inline sl_answer sl_plan_take(sl_plan *plan, sl_request *running, int64_t tokens) {
    return plan->ops->take(plan, running, tokens);
}

/*
 * Looks the prompt up in the prefix index, takes a seat, and reserves what the admission asks for.
 * At least one token is always computed. The answer's tokens exclude those found. O(its ids).
 */
static inline sl_answer sl_plan_admit(sl_plan *plan, sl_request *waiting,
                                      const sl_admission *admission) {
    return plan->ops->admit(plan, waiting, admission);
}

/*
 * Throws a running request out: its blocks are free at once, its tokens in this plan are given back
 * to the budget, and it waits in front of the others (fcfs) or at its priority. Once this plan has
 * admitted somebody, a request with tokens in this plan is not eligible.
 */
static inline sl_answer sl_plan_preempt(sl_plan *plan, sl_request *running, sl_preempt_mode mode) {
    return plan->ops->preempt(plan, running, mode);
}

/* Lowers the token budget of this plan; before anything is taken. */
static inline void sl_plan_limit_tokens(sl_plan *plan, int64_t tokens) {
    plan->ops->limit_tokens(plan, tokens);
}

/*
 * Promises the same answer, every decoding request one token and nothing else, for the next `steps`
 * plans, so that the core need not ask. A finish, an abort, a shortage of blocks, a prefill, a
 * transfer, a timer, or a change of the queue's head by another replica always ends the promise,
 * and so does, while somebody waits, what may give him room: blocks that windows leave behind,
 * contents of windows and states that are lost. An arrival does only if it is named. Making it
 * after any other plan has no effect, as has a promise of no steps.
 */
static inline void sl_plan_repeat(sl_plan *plan, int64_t steps, uint32_t disturbances) {
    plan->ops->repeat(plan, steps, disturbances);
}

/* Asks to be asked again at a time, should the replica be idle then. */
static inline void sl_plan_wake(sl_plan *plan, int64_t at_ns) {
    plan->ops->wake(plan, at_ns);
}

/*
 * Fills the plan of the next step. An empty plan that preempted is asked again at the same instant;
 * an empty plan that did not idles until the next event, and if there is none the run ends with a
 * deadlock verdict.
 */
typedef struct sl_batch_policy {
    sl_policy policy;
    void (*plan)(void *self, sl_plan *plan);
} sl_batch_policy;

/* ---- Kind route ---- */

/* A figure about a replica and how old it is. */
typedef struct sl_signal {
    int64_t value;
    int64_t age_ns;
} sl_signal;

typedef struct sl_route_view sl_route_view;

typedef struct sl_route_ops {
    sl_signal (*outstanding)(const sl_route_view *view, uint32_t replica);
} sl_route_ops;

struct sl_route_view {
    const sl_route_ops *ops;
    int64_t now_ns;
    uint32_t replica_count;
    uint64_t request;
    int64_t prompt_tokens;
    int32_t priority;
};

/* Requests sent to a replica that have not ended yet. */
static inline sl_signal sl_route_outstanding(const sl_route_view *view, uint32_t replica) {
    return view->ops->outstanding(view, replica);
}

/* Leaves the request in one cluster queue, from which replicas with a free seat pull. */
#define SL_ROUTE_SHARED UINT32_MAX

typedef struct sl_route_policy {
    sl_policy policy;
    /* The replica, below replica_count, or SL_ROUTE_SHARED. */
    uint32_t (*route)(void *self, const sl_route_view *view);
} sl_route_policy;

/* ---- Kind keep: how many rows of a request stay in the cache ---- */

/* Shares are counted in millionths. */
enum { SL_WHOLE_PPM = 1000000 };

/* Of a share, at least 0; to nearest. */
static inline int64_t sl_to_ppm(double share) {
    return (int64_t)(share * SL_WHOLE_PPM + 0.5);
}

/*
 * How many rows (keys and values of a token in a layer) stay of a request, in the mean of the
 * layers that are cut. Which ones is not simulated. No count but INT64_MAX is above 2^31. With a
 * prompt of P tokens and S(n) = min(ceil(share n), cap) there stay, once n tokens are computed:
 *
 *                           within the prompt, if it rolls     behind it
 *     drop_rows d > 0       n up to the cap, then again and again cap - d + 1 .. cap
 *     else                  S(n)                                S(P) + floor((n - P) / row_tokens)
 *
 * A rule that does not roll keeps the whole prompt until its last token is computed.
 */
typedef struct sl_kept {
    bool is_rolling;    /* throws out while the prompt is computed, not only behind it */
    int64_t share_ppm;  /* of the prompt that stays, 1 .. SL_WHOLE_PPM, which who drops has */
    int64_t cap_rows;   /* and no more than so many, >= 1; INT64_MAX = none */
    int64_t drop_rows;  /* > 0: thrown out at once by a row more than the cap; at most the cap */
    int64_t row_tokens; /* drop_rows 0: tokens behind the prompt for each row more, >= 1; INT64_MAX
                           = none ever */
} sl_kept;

/* What is computed in each of these layers beside attention. Zeroed is nothing. */
typedef struct sl_keep_work {
    bool rotates_keys;       /* keys get their positions anew in each decode step */
    bool has_scores;         /* each row and key head has a score, added to in each step */
    double rescored_share;   /* of the pairs of a prompt, whose weights are needed a second time */
    int64_t observed_tokens; /* the last ones of a prompt, whose weights for all its keys are needed
                                a second time; 0 .. 2^31, as the next */
    int64_t pooled_tokens;   /* summed up around each key, in the same pass */
} sl_keep_work;

/*
 * Asked before a run, not in it: all hooks are pure functions of the parameters, so there is
 * neither init nor fini. What stays depends on the whole prompt, so no prefix of such a request is
 * shared.
 */
typedef struct sl_keep_policy {
    sl_policy policy;
    const char *when;    /* tokens are thrown out, as a clause */
    const char *besides; /* what it computes, and what of that is counted how, as a clause */
    /* What is wrong with parameters that are each in range, as a clause; NULL = nothing. The hook
     * itself may be NULL. */
    const char *(*check)(const void *self);
    sl_kept (*rule)(const void *self);
    /* Rows of a prompt, from 1 to all of them (else a run is refused), that one of the layers keeps
     * once it is computed; layers in their order, from 0; prompts up to 2^31 tokens. NULL = each as
     * the rule says. */
    int64_t (*layer_rows)(const void *self, int64_t layer, int64_t layers, int64_t prompt_tokens);
    sl_keep_work (*work)(const void *self); /* NULL = none */
    /* Its budget in words, `20 % of the prompt`. */
    void (*describe)(const void *self, char *text, size_t text_bytes);
} sl_keep_policy;

/* Layouts are a promise to shared objects: a change here needs a new SL_POLICY_ABI. */
_Static_assert(sizeof(void *) != 8 || sizeof(sl_policy) == 88, "sl_policy changed");
_Static_assert(sizeof(void *) != 8 || sizeof(sl_plan_ops) == 17 * 8, "sl_plan_ops changed");
_Static_assert(sizeof(void *) != 8 || sizeof(sl_policy_env) == 72, "sl_policy_env changed");
_Static_assert(sizeof(void *) != 8 || sizeof(sl_admission) == 40, "sl_admission changed");
_Static_assert(sizeof(void *) != 8 || sizeof(sl_kept) == 40, "sl_kept changed");
_Static_assert(sizeof(void *) != 8 || sizeof(sl_keep_work) == 32, "sl_keep_work changed");
_Static_assert(sizeof(void *) != 8 || sizeof(sl_keep_policy) == 144, "sl_keep_policy changed");

#endif
