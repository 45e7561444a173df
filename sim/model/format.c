#include "model/format.h"

#include "base/divide.h"
#include "config/schema.h"

#include <stddef.h>

#define ROW(elements, bytes, more)                                                                 \
    { .group_elements = (elements), .group_bytes = (bytes), .row_bytes = (more) }

#define EVERY_ROW(...)                                                                             \
    {                                                                                              \
        [SLI_ROW_KEY] = ROW(__VA_ARGS__), [SLI_ROW_VALUE] = ROW(__VA_ARGS__),                      \
        [SLI_ROW_LATENT] = ROW(__VA_ARGS__), [SLI_ROW_ENTRY] = ROW(__VA_ARGS__),                   \
        [SLI_ROW_INDEX] = ROW(__VA_ARGS__),                                                        \
    }

/* Schemes that say nothing of rows that are neither keys nor values: these stay in bf16. */
#define KEYS_AND_VALUES(key, value)                                                                \
    {                                                                                              \
        [SLI_ROW_KEY] = key, [SLI_ROW_VALUE] = value, [SLI_ROW_LATENT] = ROW(1, 2, 0),             \
        [SLI_ROW_ENTRY] = ROW(1, 2, 0), [SLI_ROW_INDEX] = ROW(1, 2, 0),                            \
    }

#define KIVI_ROW(elements, bytes, which, tokens)                                                   \
    {                                                                                              \
        .group_elements = (elements), .group_bytes = (bytes), .residual = (which),                 \
        .residual_tokens = (tokens)                                                                \
    }

#define KIVI(bits, waiting)                                                                        \
    KEYS_AND_VALUES(KIVI_ROW(8, (bits) + 1, SLI_RESIDUAL_REMAINDER, waiting),                      \
                    KIVI_ROW(32, 4 * (bits) + 4, SLI_RESIDUAL_LATEST, waiting))

#define KVQUANT_ROW(bits, bytes)                                                                   \
    {                                                                                              \
        .group_elements = 8, .group_bytes = (bits), .token_bytes = (bytes),                        \
        .outlier_elements = 100, .outlier_bytes = 4                                                \
    }

#define KVQUANT(bits) KEYS_AND_VALUES(KVQUANT_ROW(bits, 4), KVQUANT_ROW(bits, 8))

#define TURBOQUANT(bytes) KEYS_AND_VALUES(ROW(32, bytes, 4), ROW(32, bytes, 4))

enum { BF16_BYTES = 2 };

/*
 * Block formats: elements a block and bytes a block, as in ggml (q8_0: 32 + a half; q4_0: 16 + a
 * half), the OCP microscaling specification 1.0 (mxfp4: 16 + an exponent) and NVIDIA's NVFP4 (16
 * elements: 8 bytes + an fp8 scale). fp8 has one scale a tensor, which weighs nothing. int8 has no
 * exponent to make up for a scale that is off, so it has one of fp16 a row, found when the row is
 * written; a scale a tensor would have to be calibrated beforehand.
 *
 * 6bit is the mean width that DeepSeek-V2 was served in (DeepSeek-AI 2024, arXiv 2405.04434),
 * scales included; the scheme is not published.
 *
 * KIVI (Liu et al., ICML 2024): 2 or 4 bits in groups of 32, each with a scale and a zero point of
 * fp16; keys by channel, so that their groups run over tokens and 8 elements of a row take as many
 * bytes as there are bits, and one for the scales; values by token. Keys wait until there are R,
 * the latest R values always do: 128 in its benchmark and evaluations (jy-yuan/KIVI
 * mem_spd_test.py), 32 in its example (example.py), which r32 stands for.
 *
 * KVQuant (Hooper et al., NeurIPS 2024; widths by its appendix M): codes into a codebook of each
 * layer, whose scales are fixed beforehand for the channels of keys, while values have a scale and
 * a zero point of fp16 a token. One element of 100 is kept as an outlier in a sparse matrix: fp16
 * and its place in 16 bits, and a pointer of 32 bits a token. A token of 4,096 elements has 41 of
 * them: 4.33, 3.33 and 2.33 bits, as published. Of narrower tokens the rounding shows: 1,024 have
 * 11 and not 10.24, which is 0.02 bits. The first token, that it leaves in fp16, is not counted.
 *
 * TurboQuant (Zandieh et al., ICLR 2026): rotated rows, coded by coordinate. At 2.5 and 3.5 bits a
 * quarter of the channels has a bit more than the others: 9 and 13 bytes for 32; a norm of fp16
 * for each of the two parts makes up the nominal width of a head of 128. The others are what vLLM
 * 0.20 stores (turboquant/config.py): keys in fp8, or in 3 or 4 bits with a norm of fp16; values in
 * 3 or 4 bits with a scale and a zero point of fp16. vLLM leaves the first two and the last two
 * layers in bf16, which is not counted here.
 *
 * DeepSeek's own rows are as FlashMLA and vLLM lay them out. V3.2, fp8_ds_mla: 512 fp8, 4 fp32
 * scales and 64 bf16, 656 bytes; V4: 448 fp8, 64 bf16 and 8 bytes of scales, 584 bytes; the index
 * key 128 fp8 and an fp32 scale, 132 bytes, or in mxfp4 68.
 */
const sli_cache_format sli_cache_formats[] = {
    {.name = "bf16", .help = "two bytes an element", .rows = EVERY_ROW(1, 2, 0)},
    {.name = "fp8", .help = "one byte an element, one scale a tensor", .rows = EVERY_ROW(1, 1, 0)},
    {.name = "int8",
     .help = "one byte an element, an fp16 scale a row",
     .rows = EVERY_ROW(1, 1, 2)},
    {.name = "q8_0", .help = "34 bytes for 32 elements", .rows = EVERY_ROW(32, 34, 0)},
    {.name = "q4_0", .help = "18 bytes for 32 elements", .rows = EVERY_ROW(32, 18, 0)},
    {.name = "nvfp4", .help = "9 bytes for 16 elements", .rows = EVERY_ROW(16, 9, 0)},
    {.name = "mxfp4", .help = "17 bytes for 32 elements", .rows = EVERY_ROW(32, 17, 0)},
    {.name = "6bit", .help = "3 bytes for 4 elements, as DeepSeek-V2", .rows = EVERY_ROW(4, 3, 0)},
    {.name = "kivi4",
     .help = "KIVI: keys and values in 4 bits, 20 bytes for 32, the latest 128 in bf16",
     .rows = KIVI(4, 128)},
    {.name = "kivi2", .help = "the same in 2 bits, 12 bytes for 32", .rows = KIVI(2, 128)},
    {.name = "kivi4_r32", .help = "kivi4 with the latest 32 in bf16", .rows = KIVI(4, 32)},
    {.name = "kivi2_r32", .help = "kivi2 with the latest 32 in bf16", .rows = KIVI(2, 32)},
    {.name = "kvquant_nuq4",
     .help = "KVQuant: keys and values in 4 bits, 1 % outliers of 4 bytes, 4 or 8 bytes a token",
     .rows = KVQUANT(4)},
    {.name = "kvquant_nuq3", .help = "the same in 3 bits", .rows = KVQUANT(3)},
    {.name = "kvquant_nuq2", .help = "the same in 2 bits", .rows = KVQUANT(2)},
    {.name = "turboquant_3.5", .help = "TurboQuant: 56 bytes for 128", .rows = TURBOQUANT(13)},
    {.name = "turboquant_2.5", .help = "TurboQuant: 40 bytes for 128", .rows = TURBOQUANT(9)},
    {.name = "turboquant_k8v4",
     .help = "as in vLLM: keys in fp8, values in 4 bits with 4 bytes of scales",
     .rows = KEYS_AND_VALUES(ROW(1, 1, 0), ROW(2, 1, 4))},
    {.name = "turboquant_4bit_nc",
     .help = "as in vLLM: 4 bits, with a norm of 2 bytes a key",
     .rows = KEYS_AND_VALUES(ROW(2, 1, 2), ROW(2, 1, 4))},
    {.name = "turboquant_k3v4_nc",
     .help = "the same, keys in 3 bits",
     .rows = KEYS_AND_VALUES(ROW(8, 3, 2), ROW(2, 1, 4))},
    {.name = "turboquant_3bit_nc",
     .help = "the same, keys and values in 3 bits",
     .rows = KEYS_AND_VALUES(ROW(8, 3, 2), ROW(8, 3, 4))},
    {.name = "fp8_ds_mla",
     .help = "DeepSeek: fp8 latents with bf16 rotary parts, fp8 index keys",
     .rows = {[SLI_ROW_KEY] = ROW(1, 1, 0),
              [SLI_ROW_VALUE] = ROW(1, 1, 0),
              [SLI_ROW_LATENT] = ROW(0, 0, 656),
              [SLI_ROW_ENTRY] = ROW(0, 0, 584),
              [SLI_ROW_INDEX] = ROW(1, 1, 4)}},
    {.name = "fp8_ds_mla_mxfp4",
     .help = "the same with mxfp4 index keys",
     .rows = {[SLI_ROW_KEY] = ROW(1, 1, 0),
              [SLI_ROW_VALUE] = ROW(1, 1, 0),
              [SLI_ROW_LATENT] = ROW(0, 0, 656),
              [SLI_ROW_ENTRY] = ROW(0, 0, 584),
              [SLI_ROW_INDEX] = ROW(32, 17, 0)}},
    {.name = NULL},
};

const char *const sli_cache_format_names[] = {"bf16",
                                              "fp8",
                                              "int8",
                                              "q8_0",
                                              "q4_0",
                                              "nvfp4",
                                              "mxfp4",
                                              "6bit",
                                              "kivi4",
                                              "kivi2",
                                              "kivi4_r32",
                                              "kivi2_r32",
                                              "kvquant_nuq4",
                                              "kvquant_nuq3",
                                              "kvquant_nuq2",
                                              "turboquant_3.5",
                                              "turboquant_2.5",
                                              "turboquant_k8v4",
                                              "turboquant_4bit_nc",
                                              "turboquant_k3v4_nc",
                                              "turboquant_3bit_nc",
                                              "fp8_ds_mla",
                                              "fp8_ds_mla_mxfp4",
                                              NULL};

/* What engines call the first two formats of either table, vLLM's --kv-cache-dtype and --dtype. All
 * 16-bit types weigh the same, and so do both of 8 bits. `auto` of the cache is the type that a
 * model computes in, which has 16 bits whatever its weights are packed in; `auto` of the weights is
 * what its checkpoint has. */
#define ENGINE_NAMES(bf16, fp8)                                                                    \
    {"bfloat16", bf16}, {"fp16", bf16}, {"float16", bf16}, {"half", bf16}, {"fp8_e4m3", fp8}, {    \
        "fp8_e5m2", fp8                                                                            \
    }

const sl_word sli_cache_format_words[] = {
    {"auto", 0}, ENGINE_NAMES(0, 1), {"fp8_inc", 1}, {NULL, 0}};

const sli_cache_format *sli_cache_format_find(const char *name) {
    int found = sli_choice_find(sli_cache_format_names, sli_cache_format_words, name);
    return found >= 0 ? &sli_cache_formats[found] : NULL;
}

int64_t sli_format_row_bytes(const sli_cache_format *format, sli_row_sort sort, int64_t heads,
                             int64_t elements) {
    const sli_row_format *row = &format->rows[sort];
    int64_t row_bytes = row->row_bytes;
    int64_t token_bytes = row->token_bytes;
    if (row->group_elements > 0) {
        row_bytes += sli_divide_up(elements, row->group_elements) * row->group_bytes;
    }
    if (row->outlier_elements > 0) {
        token_bytes += sli_divide_up(heads * elements, row->outlier_elements) * row->outlier_bytes;
    }
    return heads * row_bytes + token_bytes;
}

int64_t sli_format_residual_rows(const sli_cache_format *format, sli_row_sort sort,
                                 int64_t tokens) {
    const sli_row_format *row = &format->rows[sort];
    switch (row->residual) {
    case SLI_RESIDUAL_NONE:
        return 0;
    case SLI_RESIDUAL_LATEST:
        return tokens < row->residual_tokens ? tokens : row->residual_tokens;
    case SLI_RESIDUAL_REMAINDER:
        return tokens % row->residual_tokens;
    }
    return 0;
}

/* The last row that comes is written before all of them leave. */
int64_t sli_format_residual_most(const sli_cache_format *format, sli_row_sort sort) {
    const sli_row_format *row = &format->rows[sort];
    return row->residual != SLI_RESIDUAL_NONE ? row->residual_tokens : 0;
}

int64_t sli_format_rows_bytes(const sli_cache_format *format, sli_row_sort sort, int64_t heads,
                              int64_t elements, int64_t rows, int64_t tokens) {
    int64_t waiting = sli_format_residual_rows(format, sort, tokens);
    if (waiting > rows) {
        waiting = rows;
    }
    return waiting * heads * elements * BF16_BYTES +
           (rows - waiting) * sli_format_row_bytes(format, sort, heads, elements);
}

static bool are_alike(const sli_row_format *a, const sli_row_format *b) {
    return a->group_elements == b->group_elements && a->group_bytes == b->group_bytes &&
           a->row_bytes == b->row_bytes && a->token_bytes == b->token_bytes &&
           a->outlier_elements == b->outlier_elements && a->outlier_bytes == b->outlier_bytes &&
           a->residual == b->residual && a->residual_tokens == b->residual_tokens;
}

const sli_cache_format *sli_cache_format_plainest(const sli_cache_format *format,
                                                  const bool kept[SLI_ROW_COUNT]) {
    const sli_cache_format *other = sli_cache_formats;
    for (int sort = 0; sort < SLI_ROW_COUNT; sort++) {
        if (kept[sort] && !are_alike(&other->rows[sort], &format->rows[sort])) {
            other++;
            sort = -1;
        }
    }
    return other;
}

bool sli_format_has_residual(const sli_cache_format *format) {
    for (int sort = 0; sort < SLI_ROW_COUNT; sort++) {
        if (format->rows[sort].residual != SLI_RESIDUAL_NONE) {
            return true;
        }
    }
    return false;
}

/* As above; int8 and fp8 with scales too few to weigh. int4 is what compressed-tensors packs with a
 * group size of 32, as Kimi K2.5 is published. q1_0 is the one-bit format of the Bonsai
 * white paper (PrismML): 16 bytes and a half for 128 parameters. */
const sli_weight_format sli_weight_formats[] = {
    {.name = "bf16", .help = "two bytes a parameter", .group_params = 1, .group_bytes = 2},
    {.name = "fp8", .help = "one byte a parameter", .group_params = 1, .group_bytes = 1},
    {.name = "int8", .help = "one byte a parameter", .group_params = 1, .group_bytes = 1},
    {.name = "q8_0", .help = "34 bytes for 32", .group_params = 32, .group_bytes = 34},
    {.name = "q4_0", .help = "18 bytes for 32", .group_params = 32, .group_bytes = 18},
    {.name = "int4",
     .help = "the same: integers, one scale of 16 bits",
     .group_params = 32,
     .group_bytes = 18},
    {.name = "nvfp4", .help = "9 bytes for 16", .group_params = 16, .group_bytes = 9},
    {.name = "mxfp4", .help = "17 bytes for 32", .group_params = 32, .group_bytes = 17},
    {.name = "q1_0", .help = "18 bytes for 128", .group_params = 128, .group_bytes = 18},
    {.name = NULL},
};

#define WEIGHT_FORMAT_NAMES                                                                        \
    "bf16", "fp8", "int8", "q8_0", "q4_0", "int4", "nvfp4", "mxfp4", "q1_0", NULL

const char *const sli_weight_format_names[] = {WEIGHT_FORMAT_NAMES};
const sl_word sli_weight_format_words[] = {ENGINE_NAMES(0, 1), {NULL, 0}};

const char *const sli_weight_format_or_same[] = {"same", WEIGHT_FORMAT_NAMES};
const sl_word sli_weight_format_or_same_words[] = {ENGINE_NAMES(1, 2), {NULL, 0}};

const char *const sli_weight_format_or_published[] = {"published", WEIGHT_FORMAT_NAMES};
const sl_word sli_weight_format_or_published_words[] = {{"auto", 0}, ENGINE_NAMES(1, 2), {NULL, 0}};

const sli_weight_format *sli_weight_format_find(const char *name) {
    int found = sli_choice_find(sli_weight_format_names, sli_weight_format_words, name);
    return found >= 0 ? &sli_weight_formats[found] : NULL;
}
