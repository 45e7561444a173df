/*
 * Mixers whose memory is a state of fixed size: a matrix of key_dim x value_dim a head, and perhaps
 * the inputs that short convolutions or token shifts look back at.
 *
 * They differ in what a step does to the matrix, so in FLOPs and in projections; a row of `rules`
 * says it. Decode FLOPs an element of the state are the terms of the update: 7 of the gated delta
 * rules (decay 1, S'k 2, outer product 2, read-out 2), 6 of DeltaNet, which has no decay, and of
 * Mamba's scans, 5 of lightning and RetNet (decay, outer product, read-out), 4 without decay. The 9
 * of RWKV-7 is an estimate.
 */
#include "model/kinds.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

typedef enum recurrence {
    RULE_LINEAR,
    RULE_RETNET,
    RULE_LIGHTNING,
    RULE_DELTANET,
    RULE_GDN,
    RULE_KDA,
    RULE_MAMBA1,
    RULE_MAMBA2,
    RULE_RWKV7,
} recurrence;

/* How a chunk of prefill is computed. */
typedef enum chunk_form {
    CHUNK_NONE,  /* token by token, as in decode */
    CHUNK_SCAN,  /* products of a chunk, a state passed on (Mamba-2's SSD, lightning) */
    CHUNK_DELTA, /* and a triangular system to be solved for each chunk */
} chunk_form;

typedef struct rule {
    double element_flops; /* of a decode step, an element of the state */
    chunk_form form;
    int64_t head_scalars;    /* numbers projected for each head: decay, step, strength */
    bool has_low_rank_decay; /* a decay for each key channel, by way of one head's width */
} rule;

static const rule rules[] = {
    [RULE_LINEAR] = {4.0, CHUNK_SCAN, 0, false}, /* outer product 2, read-out 2 */
    [RULE_RETNET] = {5.0, CHUNK_SCAN, 0, false},    [RULE_LIGHTNING] = {5.0, CHUNK_SCAN, 0, false},
    [RULE_DELTANET] = {6.0, CHUNK_DELTA, 1, false}, [RULE_GDN] = {7.0, CHUNK_DELTA, 2, false},
    [RULE_KDA] = {7.0, CHUNK_DELTA, 1, true},       [RULE_MAMBA1] = {6.0, CHUNK_NONE, 0, false},
    [RULE_MAMBA2] = {6.0, CHUNK_SCAN, 1, false},    [RULE_RWKV7] = {9.0, CHUNK_NONE, 0, false},
};

static const char *const rule_names[] = {"linear", "retnet", "lightning", "deltanet", "gdn",
                                         "kda",    "mamba1", "mamba2",    "rwkv7",    NULL};

typedef enum gate_kind { GATE_NONE, GATE_FULL, GATE_LOW_RANK } gate_kind;

static const char *const gate_names[] = {"none", "full", "low_rank", NULL};
static const char *const element_names[] = {"fp32", "bf16", NULL};
static const int64_t element_bytes[] = {4, 2};

typedef struct recurrent {
    int rule; /* recurrence */
    int64_t heads;
    int64_t key_heads; /* 0 = heads */
    int64_t key_dim;
    int64_t value_dim;
    bool has_normaliser; /* a sum of keys is kept beside the matrix */
    int64_t conv;        /* tokens that a convolution sees, 0 = none */
    int gate;            /* gate_kind */
    int64_t low_rank; /* total width of low-rank projections: of steps (Mamba-1), of decays, gates
                         and mixing (RWKV-7) */
    int64_t shifts;   /* earlier inputs kept, each as wide as the residual stream */
    int state;        /* index of element_bytes */
    int input;        /* the same, of what convolutions and shifts keep */
    int64_t chunk_tokens;
} recurrent;

static const sl_word none_words[] = {{"none", 0}, {NULL, 0}};
static const sl_word same_words[] = {{"same", 0}, {NULL, 0}};

static const sl_param recurrent_params[] = {
    {.name = "rule",
     .type = SL_TYPE_CHOICE,
     .choices = rule_names,
     .help = "how a token changes the state",
     .offset = offsetof(recurrent, rule)},
    {.name = "heads",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 1e6,
     .help = "heads, each with a matrix of state; of Mamba-1 its channels",
     .offset = offsetof(recurrent, heads)},
    {.name = "key_heads",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 1e6,
     .words = same_words,
     .fallback = "same",
     .help = "heads of keys and queries, groups of B and C in Mamba; same = heads",
     .offset = offsetof(recurrent, key_heads)},
    {.name = "key_dim",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 65536,
     .help = "width of a key, the state of Mamba",
     .offset = offsetof(recurrent, key_dim)},
    {.name = "value_dim",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 65536,
     .help = "width of a value",
     .offset = offsetof(recurrent, value_dim)},
    {.name = "normaliser",
     .type = SL_TYPE_BOOL,
     .fallback = "off",
     .help = "whether a sum of keys is kept to divide by",
     .offset = offsetof(recurrent, has_normaliser)},
    {.name = "conv",
     .type = SL_TYPE_INT,
     .min = 2,
     .max = 64,
     .words = none_words,
     .fallback = "none",
     .help = "tokens that the convolution of the inputs sees",
     .offset = offsetof(recurrent, conv)},
    {.name = "gate",
     .type = SL_TYPE_CHOICE,
     .choices = gate_names,
     .fallback = "none",
     .help = "projection that gates the output, full or by way of one head's width",
     .offset = offsetof(recurrent, gate)},
    {.name = "low_rank",
     .type = SL_TYPE_INT,
     .min = 0,
     .max = 65536,
     .fallback = "0",
     .help = "width of the low-rank projections of steps (mamba1) or of all mixing (rwkv7)",
     .offset = offsetof(recurrent, low_rank)},
    {.name = "shifts",
     .type = SL_TYPE_INT,
     .min = 0,
     .max = 64,
     .fallback = "0",
     .help = "inputs of the token before that are kept, as wide as the residual stream",
     .offset = offsetof(recurrent, shifts)},
    {.name = "state",
     .type = SL_TYPE_CHOICE,
     .choices = element_names,
     .fallback = "fp32",
     .help = "type of the state",
     .offset = offsetof(recurrent, state)},
    {.name = "input",
     .type = SL_TYPE_CHOICE,
     .choices = element_names,
     .fallback = "bf16",
     .help = "type of what convolutions and shifts keep",
     .offset = offsetof(recurrent, input)},
    {.name = "chunk",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 65536,
     .fallback = "64 tokens",
     .help = "tokens that prefill computes together",
     .offset = offsetof(recurrent, chunk_tokens)},
};

const sli_section sli_recurrent_section = {
    .params = recurrent_params,
    .param_count = COUNT_OF(recurrent_params),
    .struct_size = sizeof(recurrent),
};

static int64_t key_heads(const recurrent *self) {
    return self->key_heads > 0 ? self->key_heads : self->heads;
}

static const char *check_recurrent(const void *values) {
    const recurrent *self = values;
    bool takes_low_rank = self->rule == RULE_MAMBA1 || self->rule == RULE_RWKV7;
    if (self->heads % key_heads(self) != 0) {
        return "key_heads does not divide heads";
    }
    if (takes_low_rank != (self->low_rank > 0)) {
        return "low_rank is for mamba1 and rwkv7, which need it";
    }
    if (self->rule == RULE_MAMBA1 && self->value_dim != 1) {
        return "mamba1 has heads of value_dim 1";
    }
    return NULL;
}

/* ---- Projections ---- */

/* Mamba-1 takes B, C and the rank of its steps from the inner stream, behind the convolution, and
 * has a decay of its own for each element of the state, which counts as a parameter (Gu and Dao
 * 2023, section 3.4). */
static void add_mamba1(const recurrent *self, sli_part_facts *facts) {
    int64_t inner = self->heads;
    sli_facts_matrix(facts, (sli_matrix){"steps, B and C", inner,
                                         self->low_rank + 2 * self->key_dim, inner, 1, 1});
    sli_facts_matrix(facts, (sli_matrix){"step up", self->low_rank, inner, inner, 1, 1});
    sli_facts_matrix(facts, (sli_matrix){"decay", self->key_dim, inner, inner, 1, 1});
}

/* Two matrices, `rank` wide where they meet. */
static void add_low_rank(sli_part_facts *facts, const char *name, int64_t hidden, int64_t rank,
                         int64_t out, int64_t heads) {
    sli_facts_matrix(facts, (sli_matrix){name, hidden, rank, 1, 1, 1});
    sli_facts_matrix(facts, (sli_matrix){name, rank, out, heads, 1, 1});
}

static void add_gate(const recurrent *self, int64_t hidden, sli_part_facts *facts) {
    int64_t width = self->heads * self->value_dim;
    if (self->gate == GATE_FULL) {
        sli_facts_matrix(facts, (sli_matrix){"gate", hidden, width, self->heads, 1, 1});
    } else if (self->gate == GATE_LOW_RANK) {
        add_low_rank(facts, "gate", hidden, self->value_dim, width, self->heads);
    }
}

static void add_matrices(const recurrent *self, int64_t hidden, sli_part_facts *facts) {
    const rule *own = &rules[self->rule];
    bool is_mamba1 = self->rule == RULE_MAMBA1;
    int64_t heads = self->heads;
    int64_t k_width = is_mamba1 ? 0 : key_heads(self) * self->key_dim;
    int64_t v_width = heads * self->value_dim;
    sli_facts_matrix(facts, (sli_matrix){"q and k", hidden, 2 * k_width, key_heads(self), 1, 1});
    sli_facts_matrix(facts, (sli_matrix){"v", hidden, v_width, heads, 1, 1});
    add_gate(self, hidden, facts);
    sli_facts_matrix(facts,
                     (sli_matrix){"scalars", hidden, own->head_scalars * heads, heads, 1, 1});
    if (own->has_low_rank_decay) {
        add_low_rank(facts, "decay", hidden, self->key_dim, heads * self->key_dim, heads);
    }
    if (is_mamba1) {
        add_mamba1(self, facts);
    } else {
        add_low_rank(facts, "mixing", hidden, self->low_rank, hidden, heads);
    }
    sli_facts_matrix(facts, (sli_matrix){"conv", self->conv, 2 * k_width + v_width, heads, 1, 1});
    sli_facts_matrix(facts, (sli_matrix){"out", v_width, hidden, heads, 1, 1});
}

/* ---- State ---- */

static void add_state(sli_part_facts *facts, const char *name, int64_t heads, int64_t elements,
                      int64_t bytes) {
    sli_facts_store(facts, (sli_store){.name = name,
                                       .heads = heads,
                                       .elements = elements,
                                       .element_bytes = bytes,
                                       .kept = sli_growth_constant(1),
                                       .read = sli_growth_constant(1),
                                       .is_rewritten = true});
}

static void add_states(const recurrent *self, int64_t hidden, sli_part_facts *facts) {
    int64_t state_bytes = element_bytes[self->state];
    int64_t input_bytes = element_bytes[self->input];
    int64_t past = self->conv > 0 ? self->conv - 1 : 0;
    bool has_key_conv = self->rule != RULE_MAMBA1;
    add_state(facts, "state", self->heads, self->key_dim * self->value_dim, state_bytes);
    add_state(facts, "normaliser", self->heads, self->has_normaliser ? self->key_dim : 0,
              state_bytes);
    add_state(facts, "convolution of q and k", key_heads(self),
              has_key_conv ? 2 * self->key_dim * past : 0, input_bytes);
    add_state(facts, "convolution of v", self->heads, self->value_dim * past, input_bytes);
    add_state(facts, "shifts", 1, self->shifts * hidden, input_bytes);
}

/* ---- Core ---- */

/*
 * FLOPs of prefill a token and head. Delta rules: 6 d^2 + 3 C d + C^2 (Kimi Linear, equation 13),
 * with d^2 and d taken as d_k d_v and their mean where they differ (derived). Scans: 2 C d_k + 2 C
 * d_v inside the chunk, 4 d_k d_v to and from the state (Mamba-2, section 6).
 */
static double prefill_head_flops(const recurrent *self) {
    double key = (double)self->key_dim;
    double value = (double)self->value_dim;
    double chunk = (double)self->chunk_tokens;
    switch (rules[self->rule].form) {
    case CHUNK_DELTA:
        return 6.0 * key * value + 1.5 * chunk * (key + value) + chunk * chunk;
    case CHUNK_SCAN:
        return 2.0 * chunk * (key + value) + 4.0 * key * value;
    case CHUNK_NONE:
        break;
    }
    return rules[self->rule].element_flops * key * value;
}

/* The normaliser adds a key and multiplies the sum with a query: 3 d_k a head (derived). */
static void add_core(const recurrent *self, sli_part_facts *facts) {
    double heads = (double)self->heads;
    double elements = (double)(self->key_dim * self->value_dim);
    double head_flops = rules[self->rule].element_flops * elements;
    double normaliser_flops = self->has_normaliser ? 3.0 * (double)self->key_dim : 0.0;
    sli_growth once = sli_growth_constant(1);
    sli_core_work work = {"recurrence", heads * (head_flops + normaliser_flops), once, self->heads};
    sli_facts_decode(facts, work);
    work.row_flops = heads * (prefill_head_flops(self) + normaliser_flops);
    sli_facts_prefill(facts, work);
}

static void describe_recurrent(const void *values, int64_t hidden, sli_part_facts *facts) {
    const recurrent *self = values;
    add_matrices(self, hidden, facts);
    add_states(self, hidden, facts);
    add_core(self, facts);
}

const sli_layer_kind sli_recurrent_kind = {
    .name = "recurrent",
    .help = "a state of fixed size in place of a cache",
    .check = check_recurrent,
    .describe = describe_recurrent,
};
