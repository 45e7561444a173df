/*
 * What families of models have in common: how config.json says widths, heads, windows and experts.
 *
 * Floor import. Each function asks for the fields of one matter and puts what it finds into the
 * model; mistakes are reported by the getters (import/fields.h). Field names and defaults are
 * those of the configuration classes of huggingface/transformers (2026).
 */
#ifndef SLUICE_IMPORT_SHARED_H
#define SLUICE_IMPORT_SHARED_H

#include "import/fields.h"
#include "import/model.h"

/* No model comes near these; the schema has the same bounds or wider ones. */
enum {
    SLI_IMPORT_LAYERS_MAX = 10000,
    SLI_IMPORT_MTP_MAX = 64, /* layers of multi-token prediction */
    SLI_IMPORT_HEADS_MAX = 65536,
    SLI_IMPORT_DIM_MAX = 65536,      /* width of a head */
    SLI_IMPORT_WIDTH_MAX = 1000000,  /* of a stream */
    SLI_IMPORT_INNER_MAX = 10000000, /* of a feed-forward */
    SLI_IMPORT_EXPERTS_MAX = 1000000,
    SLI_IMPORT_VOCAB_MAX = 100000000,
    SLI_IMPORT_TOKENS_MAX = 1000000000,
};

/* The formats of all weights: quantization_config, expert_dtype, torch_dtype. weights.c */
void sli_import_read_weights(sli_fields *fields, sli_import_model *model);

/* Hidden size, vocabulary, head and format of weights, into the model. `is_tied` when the file does
 * not say whether the head is the embedding. */
void sli_import_widths(sli_fields *fields, sli_import_model *model, bool is_tied);

/* These and the longest context. */
void sli_import_shell(sli_fields *fields, sli_import_model *model, bool is_tied);

/* Whether the file says that context; otherwise it was the default of the family. */
bool sli_import_has_context(const sli_fields *fields);

/* Notes that the file lacks a number, `key-value heads`, and which one is taken. */
void sli_import_assume(sli_import_model *model, const char *what, int64_t of_class);

/* Layers of the backbone. */
int64_t sli_import_layer_count(sli_fields *fields);

/* ---- Attention ---- */

typedef struct sli_import_heads {
    int64_t q;
    int64_t kv;
    int64_t dim;
} sli_import_heads;

/* Without a number of key-value heads there are as many as query heads. */
sli_import_heads sli_import_read_heads(sli_fields *fields, int64_t hidden);

/* Puts the number that the configuration class of the family has into heads of a file that has none
 * (null is as many as query heads there too), and says so in the note. 0 = the class has none. */
void sli_import_assume_kv_heads(sli_fields *fields, sli_import_model *model, int64_t of_class,
                                sli_import_heads *heads);

/* Reports key-value heads of that field that do not divide the query heads; then answers 1. */
int64_t sli_import_check_heads(sli_fields *fields, const char *names, int64_t q, int64_t kv);

/* A mixer of type gqa; more keys can follow. */
sli_import_part *sli_import_gqa(sli_import_model *model, const char *name, sli_import_heads heads);

/* Which layers see a window only. */
typedef struct sli_import_windows {
    int64_t tokens;       /* 0 = none does */
    const int64_t *types; /* of each layer, 1 = window; NULL = by the next two */
    int64_t first;        /* layers before it see everything */
    int64_t period;       /* and so does the last one of so many; 0 = none */
} sli_import_windows;

bool sli_import_is_windowed(const sli_import_windows *windows, int64_t layer);

/* The field layer_types as codes: 0 for full and 1 for sliding attention. NULL = absent. */
const int64_t *sli_import_layer_types(sli_fields *fields, int64_t layers);

/* Mixers of type mla: `mla`, or with an index `dsa` and `dsa_shared`. True for the latter. */
bool sli_import_latent(sli_fields *fields, sli_import_model *model, bool is_index_required);

/* ---- Feed-forwards ---- */

void sli_import_dense(sli_import_model *model, const char *name, int64_t width, bool is_gated);

/* Experts, all gated alike. */
typedef struct sli_import_moe {
    int64_t experts;
    int64_t top_k;
    int64_t width;
    int64_t shared;
    int64_t shared_width;
} sli_import_moe;

/* Without the shared ones, which every family says in its own way. */
sli_import_moe sli_import_read_moe(sli_fields *fields, const char *width_name);

/* Part `moe`; more keys can follow. */
sli_import_part *sli_import_add_moe(sli_import_model *model, sli_import_moe moe);

/* Which layers have experts. The readers below add the experts as part `moe`. */
typedef struct sli_import_experts {
    bool has_any;
    const int64_t *types; /* of each layer, 1 = experts; NULL = by the next ones */
    const bool *chosen;   /* those layers and no others; NULL = by the next ones */
    const bool *dense;    /* layers without them in any case; NULL = none */
    int64_t first;        /* none before that layer */
    int64_t period;       /* and then every so many-th, */
    int64_t offset;       /* those with layer % period == offset */
} sli_import_experts;

bool sli_import_has_experts(const sli_import_experts *experts, int64_t layer);

/* `moe` or `dense`. */
const char *sli_import_ffn_of(const sli_import_experts *experts, int64_t layer);

/* Experts in all layers, as wide as intermediate_size: Mixtral, gpt-oss, MiniMax. */
sli_import_experts sli_import_read_mixtral(sli_fields *fields, sli_import_model *model);

/* Experts in every decoder_sparse_step-th layer but those in mlp_only_layers, perhaps a shared one:
 * Qwen. Also adds part `dense`. */
sli_import_experts sli_import_read_qwen(sli_fields *fields, sli_import_model *model,
                                        int64_t layers);

/* Experts behind the first layers, some shared: DeepSeek, GLM, Kimi. Also adds part `dense`. */
sli_import_experts sli_import_read_deepseek(sli_fields *fields, sli_import_model *model,
                                            int64_t layers);

/* ---- Recurrent mixers ---- */

/* Types of a state, for sli_fields_word_or. NULL = fp32, which is what the schema takes. */
const char *sli_import_state_type(sli_fields *fields, const char *names);

#endif
