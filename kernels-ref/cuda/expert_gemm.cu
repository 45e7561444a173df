#include "cuda/expert_gemm.h"

#include "cuda/kref.h"
#include "cuda/product.h"

namespace kref {

namespace {

template <int Row_tiles>
__global__ void __launch_bounds__(PRODUCT_THREADS) expert_gemm_kernel(expert_gemm_args args) {
    int tile = static_cast<int>(blockIdx.x);
    if (tile >= args.groups.tile_count.get(0)) {
        return;
    }
    auto *stages = reinterpret_cast<product_stages<Row_tiles> *>(KREF_DYNAMIC_SHARED());
    auto of_tile = args.groups.tiles.get_pack<2>(int64_t{tile} * 2);
    int expert = of_tile.at[0];
    int first_place = of_tile.at[1];
    int first_column = static_cast<int>(blockIdx.y) * PRODUCT_COLUMNS;

    product_sources<Row_tiles, bf16> from;
    from.rows = args.groups.starts.get(expert + 1) - first_place;
    from.columns = args.n - first_column;
    from.depth = args.k;
    KREF_UNROLL
    for (int i = 0; i < PRODUCT_ROWS<Row_tiles> / ROWS_AT_ONCE; i++) {
        int row = first_copied_row() + i * ROWS_AT_ONCE;
        int64_t source = first_place + row;
        if (args.top_k > 0 && row < from.rows) {
            source = args.groups.order.get(source) / args.top_k;
        }
        from.left[i] = args.rows.address(source * args.k);
    }
    int64_t first_weight = int64_t{expert} * args.n + first_column + first_copied_row();
    from.right = args.weights.address(first_weight * args.k);

    product_tiles<Row_tiles> sums;
    multiply_block(sums, *stages, from);
    write_block(sums, either_output{args.product, args.exact_product},
                int64_t{first_place} * args.n + first_column, args.n, from.rows, from.columns);
}

template <int Row_tiles> const char *launch_rows(const expert_gemm_args &args, void *stream) {
    dim3 grid = {static_cast<unsigned>(expert_tiles_max(args.groups)),
                 static_cast<unsigned>((args.n - 1) / PRODUCT_COLUMNS + 1)};
    return launch("expert_gemm", expert_gemm_kernel<Row_tiles>, grid, dim3{PRODUCT_THREADS},
                  sizeof(product_stages<Row_tiles>), stream, args);
}

} // namespace

const char *expert_gemm_refusal(const expert_gemm_args &args) {
    if (args.groups.pairs < 0 || args.groups.experts < 1) {
        return "expert_gemm: pairs must not be negative, and there must be an expert";
    }
    if (args.n < 8 || args.n % 8 != 0 || args.n > 65535 * PRODUCT_COLUMNS) {
        return "expert_gemm: n must be a multiple of 8 from 8 to 8388480";
    }
    if (args.k < PACK || args.k % PACK != 0) {
        return "expert_gemm: k must be a positive multiple of 8";
    }
    if (args.top_k < 0) {
        return "expert_gemm: top_k must not be negative";
    }
    if (args.product.is_null() == args.exact_product.is_null()) {
        return "expert_gemm: exactly one of the products must be given";
    }
    return nullptr;
}

const char *expert_gemm(const expert_gemm_args &args, void *stream) {
    const char *refusal = expert_gemm_refusal(args);
    if (refusal != nullptr || args.groups.pairs == 0) {
        return refusal;
    }
    return expert_tile_rows(args.groups) == PRODUCT_ROWS<1> ? launch_rows<1>(args, stream)
                                                            : launch_rows<4>(args, stream);
}

} // namespace kref
