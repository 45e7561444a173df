#include "cuda/gemm.h"

#include "cuda/kref.h"
#include "cuda/product.h"

namespace kref {

namespace {

constexpr int FEW_ROWS = PRODUCT_ROWS<1>;

template <int Row_tiles, typename Element>
__global__ void __launch_bounds__(PRODUCT_THREADS) gemm_kernel(gemm_args<Element> args) {
    auto *stages = reinterpret_cast<product_stages<Row_tiles> *>(KREF_DYNAMIC_SHARED());
    int first_row = static_cast<int>(blockIdx.x) * PRODUCT_ROWS<Row_tiles>;
    int first_column = static_cast<int>(blockIdx.y) * PRODUCT_COLUMNS;

    product_sources<Row_tiles, Element> from;
    from.rows = args.m - first_row;
    from.columns = args.n - first_column;
    from.depth = args.k;
    KREF_UNROLL
    for (int i = 0; i < PRODUCT_ROWS<Row_tiles> / ROWS_AT_ONCE; i++) {
        int row = first_row + first_copied_row() + i * ROWS_AT_ONCE;
        from.left[i] = args.left.address(int64_t{row} * args.k);
    }
    from.right = args.right.address(int64_t{first_column + first_copied_row()} * args.k);

    product_tiles<Row_tiles> sums;
    multiply_block(sums, *stages, from);
    const f32 scale[LANE_ROWS] = {args.scale, args.scale};
    KREF_UNROLL
    for (int tile = 0; tile < Row_tiles; tile++) {
        shrink_sums(sums[tile], scale);
    }
    write_block(sums, either_output{args.product, args.exact_product},
                int64_t{first_row} * args.n + first_column, args.n, from.rows, from.columns);
}

template <int Row_tiles, typename Element>
const char *launch_rows(const gemm_args<Element> &args, void *stream) {
    dim3 grid = {static_cast<unsigned>((args.m - 1) / PRODUCT_ROWS<Row_tiles> + 1),
                 static_cast<unsigned>((args.n - 1) / PRODUCT_COLUMNS + 1)};
    return launch("gemm", gemm_kernel<Row_tiles, Element>, grid, dim3{PRODUCT_THREADS},
                  sizeof(product_stages<Row_tiles>), stream, args);
}

template <typename Element> const char *refusal_of(const gemm_args<Element> &args) {
    if (args.m < 0) {
        return "gemm: m must not be negative";
    }
    if (args.n < 8 || args.n % 8 != 0 || args.n > 65535 * PRODUCT_COLUMNS) {
        return "gemm: n must be a multiple of 8 from 8 to 8388480";
    }
    constexpr int pack = 16 / static_cast<int>(sizeof(Element));
    if (args.k < pack || args.k % pack != 0) {
        return "gemm: k must be a positive multiple of 16 bytes: of 8 bf16, of 16 e4m3";
    }
    if (args.product.is_null() == args.exact_product.is_null()) {
        return "gemm: exactly one of the products must be given";
    }
    return nullptr;
}

template <typename Element> const char *run(const gemm_args<Element> &args, void *stream) {
    const char *refusal = refusal_of(args);
    if (refusal != nullptr || args.m == 0) {
        return refusal;
    }
    return args.m <= FEW_ROWS ? launch_rows<1>(args, stream) : launch_rows<4>(args, stream);
}

} // namespace

const char *gemm_refusal(const gemm_args<bf16> &args) {
    return refusal_of(args);
}

const char *gemm_refusal(const gemm_args<e4m3> &args) {
    return refusal_of(args);
}

const char *gemm(const gemm_args<bf16> &args, void *stream) {
    return run(args, stream);
}

const char *gemm(const gemm_args<e4m3> &args, void *stream) {
    return run(args, stream);
}

} // namespace kref
