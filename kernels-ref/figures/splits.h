/*
 * Keys cut into parts, and the kernel that combines what the parts have left: what cuda/splits.h
 * and combine_splits execute, for all attentions that split.
 */
#ifndef KREF_FIGURES_SPLITS_H
#define KREF_FIGURES_SPLITS_H

#include "figures/work.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Keys of a part are a multiple of so many: in paged attention, and in that over latents. */
enum { KREF_PAGED_GRAIN = 64, KREF_LATENT_GRAIN = 32 };

enum { KREF_PART_FLOPS = 5 }; /* to take in one part: base, a multiply-add for weights and sum */

/* Keys of part number `split` of what is seen, 0 if it is left with nothing. */
int64_t kref_split_keys(int64_t seen, int splits, int split, int64_t grain);

/*
 * As many of `splits` parts as are left with keys, 1 at least: who asks for more gets blocks that
 * find nothing. Cut into so many, the keys lie in the same number of parts. O(1).
 */
int kref_useful_splits(int64_t seen, int splits, int64_t grain);

/* Adds the combining block of one query head, of which `parts` parts have left something. */
void kref_add_combine(kref_work *work, int64_t width, int64_t parts, int output_bytes);

#ifdef __cplusplus
}
#endif

#endif
