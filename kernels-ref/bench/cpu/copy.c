#include "bench/cpu/copy.h"

#include <string.h>

static size_t place_of(const int32_t *blocks, int at) {
    return (size_t)(blocks != NULL ? blocks[at] : at);
}

static void copy_block(const kref_cpu_blocks *it, int at) {
    const unsigned char *from = it->source;
    unsigned char *to = it->target;
    memcpy(to + place_of(it->target_blocks, at) * it->block_bytes,
           from + place_of(it->source_blocks, at) * it->block_bytes, it->block_bytes);
}

void kref_cpu_block_copy(const kref_cpu_blocks *it) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < it->blocks; i++) {
        copy_block(it, i);
    }
}

void kref_cpu_block_copy_each(const kref_cpu_blocks *it) {
    for (int i = 0; i < it->blocks; i++) {
        copy_block(it, i);
    }
}

void kref_cpu_gather_rows(const kref_cpu_gather *it) {
    size_t row_bytes = (size_t)it->width * sizeof *it->rows;
    ptrdiff_t rows = (ptrdiff_t)it->sequences * it->top;
#pragma omp parallel for schedule(static)
    for (ptrdiff_t row = 0; row < rows; row++) {
        const int32_t *blocks = it->block_table + row / it->top * it->blocks_max;
        uint16_t *to = it->rows + row * it->width;
        int32_t token = it->chosen[row];
        if (token < 0) {
            memset(to, 0, row_bytes);
            continue;
        }
        ptrdiff_t slot = (ptrdiff_t)blocks[token / it->block_tokens] * it->block_tokens +
                         token % it->block_tokens;
        memcpy(to, it->cache + slot * it->width, row_bytes);
    }
}
