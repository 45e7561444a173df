#include "model/format.h"

#include <stddef.h>
#include <string.h>

#define EVERY_ROW(...)                                                                             \
    {                                                                                              \
        [SLI_ROW_KEY] = {__VA_ARGS__}, [SLI_ROW_VALUE] = {__VA_ARGS__},                            \
        [SLI_ROW_LATENT] = {__VA_ARGS__}, [SLI_ROW_ENTRY] = {__VA_ARGS__},                         \
        [SLI_ROW_INDEX] = {__VA_ARGS__},                                                           \
    }

/*
 * Block formats: elements a block and bytes a block, as in ggml (q8_0: 32 + a half; q4_0: 16 + a
 * half), the OCP microscaling specification 1.0 (mxfp4: 16 + an exponent) and NVIDIA's NVFP4 (16
 * elements: 8 bytes + an fp8 scale). fp8 has one scale a tensor, which weighs nothing.
 *
 * DeepSeek's own rows are as FlashMLA and vLLM lay them out. V3.2, fp8_ds_mla: 512 fp8, 4 fp32
 * scales and 64 bf16, 656 bytes; V4: 448 fp8, 64 bf16 and 8 bytes of scales, 584 bytes; the index
 * key 128 fp8 and an fp32 scale, 132 bytes, or in mxfp4 68.
 */
const sli_cache_format sli_cache_formats[] = {
    {.name = "bf16", .help = "two bytes an element", .rows = EVERY_ROW(1, 2, 0)},
    {.name = "fp8", .help = "one byte an element, one scale a tensor", .rows = EVERY_ROW(1, 1, 0)},
    {.name = "q8_0", .help = "34 bytes for 32 elements", .rows = EVERY_ROW(32, 34, 0)},
    {.name = "q4_0", .help = "18 bytes for 32 elements", .rows = EVERY_ROW(32, 18, 0)},
    {.name = "nvfp4", .help = "9 bytes for 16 elements", .rows = EVERY_ROW(16, 9, 0)},
    {.name = "mxfp4", .help = "17 bytes for 32 elements", .rows = EVERY_ROW(32, 17, 0)},
    {.name = "fp8_ds_mla",
     .help = "DeepSeek: fp8 latents with bf16 rotary parts, fp8 index keys",
     .rows = {[SLI_ROW_KEY] = {1, 1, 0},
              [SLI_ROW_VALUE] = {1, 1, 0},
              [SLI_ROW_LATENT] = {0, 0, 656},
              [SLI_ROW_ENTRY] = {0, 0, 584},
              [SLI_ROW_INDEX] = {1, 1, 4}}},
    {.name = "fp8_ds_mla_mxfp4",
     .help = "the same with mxfp4 index keys",
     .rows = {[SLI_ROW_KEY] = {1, 1, 0},
              [SLI_ROW_VALUE] = {1, 1, 0},
              [SLI_ROW_LATENT] = {0, 0, 656},
              [SLI_ROW_ENTRY] = {0, 0, 584},
              [SLI_ROW_INDEX] = {32, 17, 0}}},
    {.name = NULL},
};

const sli_cache_format *sli_cache_format_find(const char *name) {
    for (const sli_cache_format *format = sli_cache_formats; format->name != NULL; format++) {
        if (strcmp(format->name, name) == 0) {
            return format;
        }
    }
    return NULL;
}

int64_t sli_format_row_bytes(const sli_cache_format *format, sli_row_sort sort, int64_t elements) {
    const sli_row_format *row = &format->rows[sort];
    if (row->group_elements == 0) {
        return row->row_bytes;
    }
    int64_t groups = (elements + row->group_elements - 1) / row->group_elements;
    return groups * row->group_bytes + row->row_bytes;
}
