#include "cuda/decode_attention.h"

#include "cuda/kref.h"
#include "cuda/paged_decode.h"

namespace kref {

namespace {

using namespace paged_decode;

struct plain_cache {
    global<const bf16> keys;
    global<const bf16> values;
};

/* Keys and values come as they are needed. */
template <int Head_dim> struct plain_stages {
    key_stage<Head_dim> at[STAGES];

    KREF_FUNCTION void begin(int place, const decode_attention_args &args, const plain_cache &cache,
                             key_range range, int first_key) {
        key_stage<Head_dim> *stage = &at[place];
        constexpr int row_packs = Head_dim / PACK;
        int lane = static_cast<int>(threadIdx.x) % 32;
        int kv_head = static_cast<int>(blockIdx.y);
        int64_t lane_row = find_row(args, range, first_key);
        KREF_UNROLL
        for (int i = 0; i < KEY_TILE * row_packs / 32; i++) {
            int row = (i * 32 + lane) / row_packs;
            int column = (i * 32 + lane) % row_packs * PACK;
            int64_t cache_row = __shfl_sync(~0U, lane_row, row);
            int64_t from = (cache_row * args.kv_heads + kv_head) * Head_dim + column;
            int bytes = first_key + row < range.end ? 16 : 0;
            int to = row * key_stage<Head_dim>::stride + column;
            copy_async(stage->keys + to, cache.keys.address(from), bytes);
            copy_async(stage->values + to, cache.values.address(from), bytes);
        }
    }

    KREF_FUNCTION const key_stage<Head_dim> &finish(int place, const plain_cache &) const {
        return at[place];
    }
};

template <int Head_dim>
__global__ void __launch_bounds__(THREADS) decode_attention_kernel(decode_attention_args args) {
    plain_cache cache = {args.key_cache, args.value_cache};
    attend<plain_stages<Head_dim>, Head_dim>(args, cache);
}

template <int Head_dim> const char *launch_width(const decode_attention_args &args, void *stream) {
    using shared = staging<plain_stages<Head_dim>, Head_dim>;
    const char *error = launch("decode_attention", decode_attention_kernel<Head_dim>, grid_of(args),
                               dim3{THREADS}, sizeof(shared), stream, args);
    return error != nullptr || args.splits == 1 ? error : combine(args, stream);
}

} // namespace

const char *decode_attention_refusal(const decode_attention_args &args) {
    if (args.head_dim != 64 && args.head_dim != 128) {
        return "decode_attention: head_dim must be 64 or 128";
    }
    if (args.kv_heads < 1 || args.query_heads < 1 || args.query_heads % args.kv_heads != 0 ||
        args.query_heads / args.kv_heads > TILE_ROWS) {
        return "decode_attention: query_heads must be kv_heads times 1 to 16";
    }
    if (args.sequences < 0 || args.sequences > 65535 || args.kv_heads > 65535) {
        return "decode_attention: at most 65535 sequences and key-value heads";
    }
    if (args.block_tokens < 1 || args.blocks_max < 0 || args.window_tokens < 0) {
        return "decode_attention: block_tokens must be positive, and blocks_max and "
               "window_tokens not negative";
    }
    if (args.splits < 1 || (args.splits > 1 && args.workspace.is_null())) {
        return "decode_attention: splits must be positive, and several need a workspace";
    }
    if (args.outputs.is_null() == args.exact_outputs.is_null()) {
        return "decode_attention: exactly one of the outputs must be given";
    }
    return nullptr;
}

int64_t decode_attention_workspace(const decode_attention_args &args) {
    int64_t heads = int64_t{args.sequences} * args.query_heads;
    return args.splits > 1 ? heads * args.splits * (args.head_dim + 2) : 0;
}

const char *decode_attention(const decode_attention_args &args, void *stream) {
    const char *refusal = decode_attention_refusal(args);
    if (refusal != nullptr || args.sequences == 0) {
        return refusal;
    }
    return args.head_dim == 64 ? launch_width<64>(args, stream) : launch_width<128>(args, stream);
}

} // namespace kref
