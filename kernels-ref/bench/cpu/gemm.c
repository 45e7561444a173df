#include "bench/cpu/gemm.h"

#include "bench/cpu/panel.h"

#include <stddef.h>
#include <stdlib.h>

bool kref_cpu_gemm(const kref_cpu_product *product) {
    size_t elements = (size_t)product->m * (size_t)product->k;
    float *left = malloc((elements + 1) * sizeof *left);
    if (left == NULL) {
        return false;
    }
    kref_cpu_panel panel = {
        .left = left,
        .right = product->right,
        .element_bytes = product->element_bytes,
        .product = product->product,
        .m = product->m,
        .n = product->n,
        .k = product->k,
        .scale = product->scale,
    };
    bool is_done = true;
#pragma omp parallel
    {
        kref_cpu_sums *sums = malloc(((size_t)product->m + 1) * sizeof *sums);
        if (sums == NULL) {
#pragma omp atomic write
            is_done = false;
        }
#pragma omp for schedule(static)
        for (int row = 0; row < product->m; row++) {
            ptrdiff_t at = (ptrdiff_t)row * product->k;
            kref_cpu_widen_elements(product->left, product->element_bytes, at, left + at,
                                    product->k);
        }
#pragma omp for schedule(dynamic)
        for (int column = 0; column < product->n; column += KREF_CPU_PANEL_COLUMNS) {
            if (sums != NULL) {
                kref_cpu_multiply_panel(&panel, column, sums);
            }
        }
        free(sums);
    }
    free(left);
    return is_done;
}
