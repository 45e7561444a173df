#include "bench/cpu/rows.h"

#include "bench/cpu/number.h"

static void load_plain(const void *of, ptrdiff_t row, int kv_head, float *key, float *value) {
    const kref_cpu_plain *it = of;
    ptrdiff_t at = (row * it->kv_heads + kv_head) * it->head_dim;
    kref_cpu_widen_all(it->keys + at, key, it->head_dim);
    kref_cpu_widen_all(it->values + at, value, it->head_dim);
}

kref_cpu_rows kref_cpu_plain_rows(const kref_cpu_plain *it) {
    return (kref_cpu_rows){load_plain, it, it->head_dim, it->head_dim};
}

static void load_latent(const void *of, ptrdiff_t row, int kv_head, float *key, float *value) {
    const kref_cpu_latent *it = of;
    (void)kv_head;
    kref_cpu_widen_all(it->rows + row * (it->latent + it->rope), key, it->latent + it->rope);
    memcpy(value, key, (size_t)it->latent * sizeof *value);
}

kref_cpu_rows kref_cpu_latent_rows(const kref_cpu_latent *it) {
    return (kref_cpu_rows){load_latent, it, it->latent + it->rope, it->latent};
}

static void load_expanded(const void *of, ptrdiff_t row, int kv_head, float *key, float *value) {
    const kref_cpu_expanded *it = of;
    const kref_cpu_latent *shared = &it->shared;
    const uint16_t *own = it->expanded +
                          (row * it->kv_heads + kv_head) * (ptrdiff_t)(it->nope + it->value);
    const uint16_t *rope = shared->rows + row * (shared->latent + shared->rope) + shared->latent;
    kref_cpu_widen_all(own, key, it->nope);
    kref_cpu_widen_all(rope, key + it->nope, shared->rope);
    kref_cpu_widen_all(own + it->nope, value, it->value);
}

kref_cpu_rows kref_cpu_expanded_rows(const kref_cpu_expanded *it) {
    return (kref_cpu_rows){load_expanded, it, it->nope + it->shared.rope, it->value};
}
