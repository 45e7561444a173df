/*
 * Families that keep one latent or one compressed entry in place of keys and values: DeepSeek V2 to
 * V4, Kimi K2, GLM-4.7 Flash and GLM-5.
 *
 * Field names: configuration classes of huggingface/transformers (2026) and published files. Which
 * layers of GLM-5.2 search an index is said by indexer_types, a pattern of F and S, or a frequency
 * and an offset: full where max(i - offset + 1, 0) is a multiple of the frequency.
 *
 * DeepSeek V4: an entry of ratio 4 is made of two neighbouring groups of tokens and chosen by an
 * index; its compressor keeps 2 x 4 positions of 4 vectors, that of ratio 128 keeps 128 of 2 (the
 * reference code; vLLM blog on DeepSeek V4, appendix).
 */
#include "import/families.h"
#include "import/shared.h"

/* ---- Latents ---- */

/* Which layers use the choice of an earlier one. */
typedef struct index_sharing {
    const int64_t *types; /* 1 = shared; NULL = by the next two */
    int64_t period;
    int64_t offset;
} index_sharing;

static index_sharing read_sharing(sli_fields *fields, int64_t layers) {
    static const sli_field_word words[] = {{"full", 0}, {"shared", 1}, {NULL, 0}};
    static const sli_field_word letters[] = {{"F", 0}, {"S", 1}, {NULL, 0}};
    size_t count = (size_t)layers;
    index_sharing sharing = {.types = sli_fields_codes(fields, "indexer_types", words, count)};
    const int64_t *pattern = sli_fields_letters(fields, "index_topk_pattern", letters, &count);
    sharing.period = sli_fields_int_or(fields, "index_topk_freq", 1, SLI_IMPORT_LAYERS_MAX, 1);
    sharing.offset = sli_fields_int_or(fields, "index_skip_topk_offset", 0, SLI_IMPORT_LAYERS_MAX,
                                       2);
    if (sharing.types == NULL && pattern != NULL) {
        sharing.types = pattern;
        if (count != (size_t)layers) {
            sli_fields_error(fields, "index_topk_pattern", "expected %lld letters, found %zu",
                             (long long)layers, count);
            sharing.types = NULL;
        }
    }
    return sharing;
}

static bool is_sharing(const index_sharing *sharing, int64_t layer) {
    if (sharing->types != NULL) {
        return sharing->types[layer] == 1;
    }
    int64_t place = layer - sharing->offset + 1;
    return place > 0 && place % sharing->period != 0;
}

typedef struct latent_traits {
    bool has_index; /* always, so that its fields may not be missing */
} latent_traits;

static void read_latent(sli_fields *fields, sli_import_model *model, const void *values) {
    const latent_traits *traits = values;
    sli_import_shell(fields, model, false);
    int64_t layers = sli_import_layer_count(fields);
    bool has_index = sli_import_latent(fields, model, traits->has_index);
    index_sharing sharing = {.period = 1};
    if (has_index) {
        sharing = read_sharing(fields, layers);
    }
    static const sli_field_word sparse[] = {{"deepseek_sparse_attention", 0}, {NULL, 0}};
    (void)sli_fields_codes(fields, "layer_types", sparse, (size_t)layers);
    sli_import_experts experts = sli_import_read_deepseek(fields, model, layers);
    for (int64_t i = 0; i < layers; i++) {
        const char *mixer = !has_index ? "mla" : is_sharing(&sharing, i) ? "dsa_shared" : "dsa";
        sli_import_layers(model, 1, mixer, sli_import_ffn_of(&experts, i));
    }
    int64_t mtp_layers = sli_fields_int_or(fields, "num_nextn_predict_layers", 0,
                                           SLI_IMPORT_MTP_MAX, 0);
    sli_import_mtp_layers(model, mtp_layers, has_index ? "dsa" : "mla",
                          sli_import_ffn_of(&experts, layers - 1));
}

/* ---- Compressed entries ---- */

static void add_compressed(sli_fields *fields, sli_import_model *model, const char *name,
                           int64_t ratio, bool has_index) {
    sli_import_part *part = sli_import_mixer(model, name, "compressed");
    int64_t groups = has_index ? 2 : 1; /* of tokens that an entry is made of */
    int64_t q_heads = sli_fields_int(fields, "num_attention_heads", 1, SLI_IMPORT_HEADS_MAX);
    int64_t o_groups = sli_fields_int(fields, "o_groups", 1, SLI_IMPORT_HEADS_MAX);
    if (q_heads % o_groups != 0) {
        sli_fields_conflict(fields, "o_groups", "%lld groups do not divide the %lld query heads",
                            (long long)o_groups, (long long)q_heads);
    }
    sli_import_number(part, "q_heads", q_heads);
    sli_import_number(part, "head_dim", sli_fields_int(fields, "head_dim", 1, SLI_IMPORT_DIM_MAX));
    sli_import_number(part, "q_lora",
                      sli_fields_int(fields, "q_lora_rank", 1, SLI_IMPORT_WIDTH_MAX));
    sli_import_number(part, "o_lora",
                      sli_fields_int(fields, "o_lora_rank", 1, SLI_IMPORT_WIDTH_MAX));
    sli_import_number(part, "o_groups", o_groups);
    sli_import_tokens(part, "window",
                      sli_fields_int(fields, "sliding_window", 1, SLI_IMPORT_TOKENS_MAX));
    sli_import_number(part, "ratio", ratio);
    sli_import_tokens(part, "state_span", ratio * groups);
    sli_import_number(part, "state_vectors", ratio > 0 ? 2 * groups : 0);
    if (has_index) {
        sli_import_open(part, "index");
        sli_import_number(part, "heads",
                          sli_fields_int(fields, "index_n_heads", 1, SLI_IMPORT_HEADS_MAX));
        sli_import_number(part, "dim",
                          sli_fields_int(fields, "index_head_dim", 1, SLI_IMPORT_HEADS_MAX));
        sli_import_number(part, "top",
                          sli_fields_int(fields, "index_topk", 1, SLI_IMPORT_TOKENS_MAX));
        sli_import_close(part);
    }
}

enum { RATIO_CSA = 4, RATIO_HCA = 128 };

static const char *const window_name = "window";

static const char *name_of_ratio(int64_t ratio) {
    return ratio == RATIO_CSA ? "csa" : ratio == RATIO_HCA ? "hca" : window_name;
}

/* Ratios of the layers and, behind them, perhaps those of multi-token prediction. */
static const int64_t *read_ratios(sli_fields *fields, int64_t layers, int64_t mtp_layers,
                                  bool *has_mtp) {
    static const sli_field_word ratios[] = {
        {"0", 0}, {"4", RATIO_CSA}, {"128", RATIO_HCA}, {NULL, 0}};
    static const sli_field_word types[] = {{"sliding_attention", 0},
                                           {"compressed_sparse_attention", RATIO_CSA},
                                           {"heavily_compressed_attention", RATIO_HCA},
                                           {NULL, 0}};
    const sli_node *list = sli_fields_list(fields, "compress_ratios");
    if (list == NULL) {
        *has_mtp = false;
        return sli_fields_codes(fields, "layer_types", types, (size_t)layers);
    }
    *has_mtp = list->count == (size_t)(layers + mtp_layers);
    return sli_fields_codes(fields, "compress_ratios", ratios,
                            (size_t)(*has_mtp ? layers + mtp_layers : layers));
}

static void read_deepseek_v4(sli_fields *fields, sli_import_model *model, const void *traits) {
    (void)traits; /* one form */
    sli_import_shell(fields, model, false);
    int64_t layers = sli_import_layer_count(fields);
    int64_t mtp_layers = sli_fields_int_or(fields, "num_nextn_predict_layers", 0,
                                           SLI_IMPORT_MTP_MAX, 0);
    bool has_mtp = false;
    const int64_t *ratios = read_ratios(fields, layers, mtp_layers, &has_mtp);
    int64_t streams = sli_fields_int(fields, "hc_mult", 1, 64);
    model->hyper_streams = streams > 1 ? streams : 0;
    sli_fields_skip(fields, "num_key_value_heads|qk_rope_head_dim|layer_types|mlp_layer_types");
    add_compressed(fields, model, "csa", RATIO_CSA, true);
    add_compressed(fields, model, "hca", RATIO_HCA, false);
    add_compressed(fields, model, window_name, 0, false);
    (void)sli_import_read_deepseek(fields, model, layers);
    if (ratios == NULL) {
        if (!sli_fields_has(fields, "compress_ratios|layer_types")) {
            sli_fields_error(fields, "compress_ratios",
                             "missing: a list with 0, 4 or 128 for each layer");
        }
        return;
    }
    for (int64_t i = 0; i < layers; i++) {
        sli_import_layers(model, 1, name_of_ratio(ratios[i]), "moe");
    }
    for (int64_t i = 0; i < mtp_layers; i++) {
        sli_import_mtp_layers(model, 1, has_mtp ? name_of_ratio(ratios[layers + i]) : window_name,
                              "moe");
    }
}

/* ---- The families ---- */

static const latent_traits dense = {.has_index = false};
static const latent_traits indexed = {.has_index = true};

const sli_family sli_latent_families[] = {
    {"deepseek_v3", "deepseek_v2|kimi_k2|kimi_k25|glm4_moe_lite", read_latent, &dense, NULL},
    {"deepseek_v32", "glm_moe_dsa", read_latent, &indexed, NULL},
    {"deepseek_v4", NULL, read_deepseek_v4, NULL, NULL},
    {.name = NULL},
};
