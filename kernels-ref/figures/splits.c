#include "figures/splits.h"

enum { THREADS = 128, INDEX_BYTES = 4, FLOAT_BYTES = 4 };

static int64_t rounded_up(int64_t count, int64_t part) {
    return (count + part - 1) / part * part;
}

static int64_t part_keys(int64_t seen, int splits, int64_t grain) {
    return rounded_up((seen + splits - 1) / splits, grain);
}

int kref_useful_splits(int64_t seen, int splits, int64_t grain) {
    int64_t part = part_keys(seen, splits, grain);
    return seen > 0 ? (int)((seen + part - 1) / part) : 1;
}

int64_t kref_split_keys(int64_t seen, int splits, int split, int64_t grain) {
    int64_t part = part_keys(seen, splits, grain);
    int64_t left = seen - split * part;
    left = left < part ? left : part;
    return left > 0 ? left : 0;
}

void kref_add_combine(kref_work *work, int64_t width, int64_t parts, int output_bytes) {
    work->loaded_bytes += THREADS * INDEX_BYTES; /* the length */
    work->loaded_bytes += THREADS * parts * FLOAT_BYTES;
    work->vector_flops += THREADS * parts;
    work->loaded_bytes += width * parts * 3 * FLOAT_BYTES;
    work->vector_flops += width * (parts * KREF_PART_FLOPS + (parts > 0 ? 1 : 0));
    work->specials += width * parts;
    work->stored_bytes += width * output_bytes;
}
