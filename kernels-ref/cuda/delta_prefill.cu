#include "cuda/delta_rule.h"

#include "cuda/kref.h"
#include "cuda/outputs.h"
#include "cuda/softmax.h"
#include "cuda/state_place.h"
#include "cuda/tile.h"

namespace kref {

namespace {

constexpr int WARPS = 4;
constexpr int THREADS = WARPS * 32;
constexpr int CHUNK = TILE_ROWS; /* tokens */
constexpr int COLUMNS = 64;      /* of the state, of a block */
constexpr int WARP_COLUMNS = COLUMNS / WARPS;
/* With decays of channels a chunk is cut before a G below it: e^80 is a number still, and so is a
 * sum of products with it. */
constexpr float LEAST_SUM = -80.0F;

/* Rows in shared memory are 16 bytes longer, an odd multiple of 16: see tile.h. */
constexpr int TOKEN_STRIDE = CHUNK + PACK;
constexpr int COLUMN_STRIDE = COLUMNS + PACK;

/* Everything that the warps exchange. With a decay for each channel keys and queries are e^G K and
 * e^G Q, and `right_keys` are e^-G K; else they are as they come, and there is nothing beside. */
template <int Key_dim, bool Has_channel_decays> struct exchange {
    static constexpr int key_stride = Key_dim + PACK;
    static constexpr int sums_width = Has_channel_decays ? Key_dim : 1;
    bf16 keys[CHUNK * key_stride];
    bf16 queries[CHUNK * key_stride];
    bf16 right_keys[Has_channel_decays ? CHUNK * key_stride : PACK];
    bf16 late_keys[Key_dim * TOKEN_STRIDE]; /* e^(G_end - G) K, a row for each channel */
    bf16 state[Key_dim * COLUMN_STRIDE];
    bf16 corrections[CHUNK * COLUMN_STRIDE];  /* U */
    f32 residuals[CHUNK * COLUMNS];           /* the right side of the system */
    f32 matrix[CHUNK * CHUNK];                /* A, below its diagonal */
    f32 decay_sums[(CHUNK + 1) * sums_width]; /* G, and that of the token behind the chunk */
    int fitting[WARPS];                       /* tokens, as the channels of a warp see it */

    KREF_FUNCTION const bf16 *keys_on_the_right() const {
        return Has_channel_decays ? right_keys : keys;
    }
};

/* The tokens of a chunk; those from `count` on are padding.*/
struct chunk {
    int64_t first;
    int left; /* of the sequence, with those of the chunk */
    int count;

    KREF_FUNCTION chunk(int64_t first_token, int tokens_left)
        : first(first_token), left(tokens_left), count(tokens_left < CHUNK ? tokens_left : CHUNK) {
    }
};

/* ---- Decays and keys, by all threads ---- */

/* Sums of a channel. Returns how many tokens fit into the chunk as far as it is concerned. */
template <int Key_dim>
KREF_FUNCTION int sum_channel(exchange<Key_dim, true> *shared, const delta_rule_args &args,
                              const state_place &place, const chunk &its, int channel) {
    f32 sum = 0.0F;
    int fitting = its.count;
    for (int token = 0; token <= CHUNK; token++) {
        if (token > 0 && token < its.left) {
            sum += args.log_decays.get(place.head_at(args, its.first + token) * Key_dim + channel);
        }
        shared->decay_sums[token * Key_dim + channel] = sum;
        bool is_too_low = static_cast<float>(sum) < LEAST_SUM;
        fitting = is_too_low && token < fitting ? token : fitting;
    }
    return fitting;
}

KREF_FUNCTION int least_of_warp(int value) {
    KREF_UNROLL
    for (int pattern = 16; pattern > 0; pattern /= 2) {
        int other = __shfl_xor_sync(~0U, value, pattern);
        value = other < value ? other : value;
    }
    return value;
}

/* Leaves G where all threads see it, and finds where the chunk ends. */
template <int Key_dim>
KREF_FUNCTION void sum_decays(exchange<Key_dim, true> *shared, const delta_rule_args &args,
                              const state_place &place, chunk *its) {
    int thread = static_cast<int>(threadIdx.x);
    int fitting = its->count;
    if (thread < Key_dim) {
        fitting = sum_channel(shared, args, place, *its, thread);
    }
    fitting = least_of_warp(fitting);
    if (thread % 32 == 0) {
        shared->fitting[thread / 32] = fitting;
    }
    __syncthreads();
    KREF_UNROLL
    for (int warp = 0; warp < WARPS; warp++) {
        int its_fitting = shared->fitting[warp];
        its->count = its_fitting < its->count ? its_fitting : its->count;
    }
}

/* With one decay a head only differences of sums are needed, so a chunk is never cut. */
template <int Key_dim>
KREF_FUNCTION void sum_decays(exchange<Key_dim, false> *shared, const delta_rule_args &args,
                              const state_place &place, chunk *its) {
    int thread = static_cast<int>(threadIdx.x);
    if (thread <= CHUNK) {
        f32 sum = 0.0F;
        for (int token = 1; token <= thread && token < its->left; token++) {
            sum += args.log_decays.get(place.head_at(args, its->first + token));
        }
        shared->decay_sums[thread] = sum;
    }
    __syncthreads();
}

/* Eight channels of a token, in a chunk that ends at `end`. */
template <int Key_dim, bool Has_channel_decays>
KREF_FUNCTION void stage_pack(exchange<Key_dim, Has_channel_decays> *shared, int token, int end,
                              int channel, pack<bf16, PACK> keys, pack<bf16, PACK> queries) {
    using its_exchange = exchange<Key_dim, Has_channel_decays>;
    bool is_padding = token >= end;
    const f32 *sums = shared->decay_sums;
    pack<bf16, PACK> right = {};
    pack<bf16, PACK> late = {};
    if constexpr (Has_channel_decays) {
        KREF_UNROLL
        for (int i = 0; i < PACK && !is_padding; i++) {
            f32 key = to_float(keys.at[i]);
            f32 sum = sums[token * Key_dim + channel + i];
            f32 grown = exp(sum);
            f32 rest = exp(sums[end * Key_dim + channel + i] - sum);
            keys.at[i] = to_bf16(static_cast<float>(key * grown));
            queries.at[i] = to_bf16(static_cast<float>(f32(to_float(queries.at[i])) * grown));
            right.at[i] = to_bf16(static_cast<float>(key * exp(-sum)));
            late.at[i] = to_bf16(static_cast<float>(key * rest));
        }
    } else if (!is_padding) {
        f32 rest = exp(sums[end] - sums[token]);
        KREF_UNROLL
        for (int i = 0; i < PACK; i++) {
            late.at[i] = to_bf16(static_cast<float>(f32(to_float(keys.at[i])) * rest));
        }
    }
    int at = token * its_exchange::key_stride + channel;
    *reinterpret_cast<pack<bf16, PACK> *>(shared->keys + at) = keys;
    *reinterpret_cast<pack<bf16, PACK> *>(shared->queries + at) = queries;
    if constexpr (Has_channel_decays) {
        *reinterpret_cast<pack<bf16, PACK> *>(shared->right_keys + at) = right;
    }
    KREF_UNROLL
    for (int i = 0; i < PACK; i++) {
        shared->late_keys[(channel + i) * TOKEN_STRIDE + token] = late.at[i];
    }
}

template <int Key_dim, bool Has_channel_decays>
KREF_FUNCTION void stage_keys(exchange<Key_dim, Has_channel_decays> *shared,
                              const delta_rule_args &args, const state_place &place,
                              const chunk &its) {
    constexpr int row_packs = Key_dim / PACK;
    for (int at = static_cast<int>(threadIdx.x); at < CHUNK * row_packs; at += THREADS) {
        int token = at / row_packs;
        int channel = at % row_packs * PACK;
        pack<bf16, PACK> keys = {};
        pack<bf16, PACK> queries = {};
        if (token < its.count) {
            int64_t from = place.key_at(args, its.first + token) + channel;
            keys = args.keys.get_pack<PACK>(from);
            queries = args.queries.get_pack<PACK>(from);
        }
        stage_pack(shared, token, its.count, channel, keys, queries);
    }
}

/* ---- Products of a chunk; a warp has 16 columns of the state ---- */

struct chunk_products {
    sum_tile predicted[2]; /* K S0 */
    sum_tile read[2];      /* Q S0 */
    sum_tile seen[2];      /* Q K^T */
    sum_tile overlaps[2];  /* K K^T, of the first warp */
};

template <int Key_dim, bool Has_channel_decays>
KREF_FUNCTION void multiply_chunk(chunk_products *products,
                                  const exchange<Key_dim, Has_channel_decays> &shared, int warp) {
    constexpr int stride = exchange<Key_dim, Has_channel_decays>::key_stride;
    KREF_UNROLL
    for (int i = 0; i < Key_dim; i += TILE_DEPTH) {
        left_tile keys = load_left(shared.keys + i, stride);
        left_tile queries = load_left(shared.queries + i, stride);
        right_pair state = load_right_by_depth(
            shared.state + i * COLUMN_STRIDE + warp * WARP_COLUMNS, COLUMN_STRIDE);
        right_pair tokens = load_right_by_column(shared.keys_on_the_right() + i, stride);
        KREF_UNROLL
        for (int j = 0; j < 2; j++) {
            multiply_add(&products->predicted[j], keys, state.at[j]);
            multiply_add(&products->read[j], queries, state.at[j]);
            multiply_add(&products->seen[j], queries, tokens.at[j]);
        }
        if (warp == 0) {
            multiply_add(&products->overlaps[0], keys, tokens.at[0]);
            multiply_add(&products->overlaps[1], keys, tokens.at[1]);
        }
    }
}

/* The rest of what two tokens share, from the earlier to the later. */
template <int Key_dim, bool Has_channel_decays>
KREF_FUNCTION f32 shrink_pair(const exchange<Key_dim, Has_channel_decays> &shared, f32 product,
                              int later, int earlier) {
    if constexpr (Has_channel_decays) {
        return product; /* the factors have it */
    } else {
        return product * exp(shared.decay_sums[later] - shared.decay_sums[earlier]);
    }
}

/* Row by row: b (V - e^G K S0), and of the first warp A. `grown` is e^G where there is one decay.
 * Padding has a strength of 0. */
template <int Key_dim, bool Has_channel_decays>
KREF_FUNCTION void leave_system(exchange<Key_dim, Has_channel_decays> *shared,
                                const delta_rule_args &args, const state_place &place,
                                const chunk &its, const chunk_products &products, const f32 *grown,
                                int warp) {
    KREF_UNROLL
    for (int row = 0; row < LANE_ROWS; row++) {
        int token = row_of(row);
        bool is_padding = token >= its.count;
        f32 strength = 0.0F;
        if (!is_padding) {
            strength = args.strengths.get(place.head_at(args, its.first + token));
        }
        KREF_UNROLL
        for (int i = 0; i < 2; i++) {
            int column = warp * WARP_COLUMNS + i * TILE_COLUMNS + column_of();
            pack<bf16, LANE_COLUMNS> values = {};
            if (!is_padding) {
                values = args.values.get_pack<LANE_COLUMNS>(
                    place.value_at(args, its.first + token) + column);
            }
            KREF_UNROLL
            for (int j = 0; j < LANE_COLUMNS; j++) {
                f32 value = to_float(values.at[j]);
                f32 predicted = products.predicted[i].at[row][j];
                f32 missed = Has_channel_decays ? value - predicted
                                                : fma(-grown[row], predicted, value);
                shared->residuals[token * COLUMNS + column + j] = missed * strength;

                int earlier = i * TILE_COLUMNS + column_of() + j;
                if (warp == 0 && earlier < token) {
                    f32 overlap = shrink_pair(*shared, products.overlaps[i].at[row][j], token,
                                              earlier);
                    shared->matrix[token * CHUNK + earlier] = overlap * strength;
                }
            }
        }
    }
}

/* (1 + A) U = R from the first token on, a column a thread. */
template <int Key_dim, bool Has_channel_decays>
KREF_FUNCTION void solve(exchange<Key_dim, Has_channel_decays> *shared) {
    int column = static_cast<int>(threadIdx.x);
    if (column >= COLUMNS) {
        return;
    }
    f32 solved[CHUNK];
    KREF_UNROLL
    for (int token = 0; token < CHUNK; token++) {
        f32 rest = shared->residuals[token * COLUMNS + column];
        KREF_UNROLL
        for (int earlier = 0; earlier < token; earlier++) {
            rest = fma(-shared->matrix[token * CHUNK + earlier], solved[earlier], rest);
        }
        solved[token] = rest;
        shared->corrections[token * COLUMN_STRIDE + column] = to_bf16(static_cast<float>(rest));
    }
}

template <int Key_dim, bool Has_channel_decays>
KREF_FUNCTION void put_outputs(const exchange<Key_dim, Has_channel_decays> &shared,
                               const delta_rule_args &args, const state_place &place,
                               const chunk &its, chunk_products *products, const f32 *grown,
                               int warp) {
    KREF_UNROLL
    for (int i = 0; i < 2 * LANE_ROWS * LANE_COLUMNS; i++) {
        int tile = i / (LANE_ROWS * LANE_COLUMNS);
        int row = i / LANE_COLUMNS % LANE_ROWS;
        int column = i % LANE_COLUMNS;
        int earlier = tile * TILE_COLUMNS + column_of() + column;
        f32 &seen = products->seen[tile].at[row][column];
        seen = earlier <= row_of(row) ? shrink_pair(shared, seen, row_of(row), earlier) : f32(0.0F);
        if constexpr (!Has_channel_decays) {
            products->read[tile].at[row][column] *= grown[row];
        }
    }
    either_output outputs = {args.outputs, args.exact_outputs};
    left_tile left = left_from_sums(products->seen[0], products->seen[1]);
    right_pair right = load_right_by_depth(shared.corrections + warp * WARP_COLUMNS, COLUMN_STRIDE);
    multiply_add(&products->read[0], left, right.at[0]);
    multiply_add(&products->read[1], left, right.at[1]);
    KREF_UNROLL
    for (int i = 0; i < 2 * LANE_ROWS; i++) {
        int row = i % LANE_ROWS;
        if (row_of(row) < its.count) {
            const f32 *sums = products->read[i / LANE_ROWS].at[row];
            int64_t to = place.value_at(args, its.first + row_of(row)) + warp * WARP_COLUMNS +
                         i / LANE_ROWS * TILE_COLUMNS + column_of();
            put_pair(outputs, to, sums[0] * f32(args.scale), sums[1] * f32(args.scale));
        }
    }
}

/* ---- The state; a warp has a quarter of the rows, and all columns ---- */

template <int Key_dim> struct warp_state {
    static constexpr int row_tiles = Key_dim / WARPS / TILE_ROWS;
    static constexpr int column_tiles = COLUMNS / TILE_COLUMNS;
    sum_tile at[row_tiles][column_tiles];

    /* Calls visit(the two neighbouring sums of a lane, their row, their column). */
    template <typename Visit> KREF_FUNCTION void for_each_pair(int warp, Visit visit) {
        KREF_UNROLL
        for (int i = 0; i < row_tiles * LANE_ROWS; i++) {
            int tile = i / LANE_ROWS;
            int row = (warp * row_tiles + tile) * TILE_ROWS + row_of(i % LANE_ROWS);
            KREF_UNROLL
            for (int j = 0; j < column_tiles; j++) {
                visit(at[tile][j].at[i % LANE_ROWS], row, j * TILE_COLUMNS + column_of());
            }
        }
    }
};

template <int Key_dim, bool Has_channel_decays>
KREF_FUNCTION void share_state(exchange<Key_dim, Has_channel_decays> *shared,
                               warp_state<Key_dim> *state, int warp) {
    state->for_each_pair(warp, [&](f32 *pair, int row, int column) {
        *reinterpret_cast<uint32_t *>(shared->state + row * COLUMN_STRIDE +
                                      column) = pack_bf16(pair[0], pair[1]);
    });
}

/* log_decay_of(row) is asked for once a row of the lane, or once in all. */
template <int Key_dim, bool Has_channel_decays, typename Find>
KREF_FUNCTION void let_decay(warp_state<Key_dim> *state, int warp, Find log_decay_of) {
    using its_state = warp_state<Key_dim>;
    f32 decay = 1.0F;
    if constexpr (!Has_channel_decays) {
        decay = exp(log_decay_of(0));
    }
    KREF_UNROLL
    for (int i = 0; i < its_state::row_tiles * LANE_ROWS; i++) {
        int tile = i / LANE_ROWS;
        int row = i % LANE_ROWS;
        if constexpr (Has_channel_decays) {
            decay = exp(
                log_decay_of((warp * its_state::row_tiles + tile) * TILE_ROWS + row_of(row)));
        }
        KREF_UNROLL
        for (int j = 0; j < its_state::column_tiles; j++) {
            state->at[tile][j].at[row][0] *= decay;
            state->at[tile][j].at[row][1] *= decay;
        }
    }
}

/* As the first token finds the state. */
template <int Key_dim, bool Has_channel_decays>
KREF_FUNCTION void begin_state(warp_state<Key_dim> *state, const delta_rule_args &args,
                               const state_place &place, int64_t token, int warp) {
    int64_t head_at = place.head_at(args, token);
    global<const float> log_decays = args.log_decays;
    let_decay<Key_dim, Has_channel_decays>(state, warp, [=](int row) {
        return f32(log_decays.get(Has_channel_decays ? head_at * Key_dim + row : head_at));
    });
}

/* As the first token behind the chunk finds the state. */
template <int Key_dim, bool Has_channel_decays>
KREF_FUNCTION void change_state(warp_state<Key_dim> *state,
                                const exchange<Key_dim, Has_channel_decays> &shared,
                                const chunk &its, int warp) {
    using its_state = warp_state<Key_dim>;
    const f32 *sums = shared.decay_sums + its.count * shared.sums_width;
    let_decay<Key_dim, Has_channel_decays>(state, warp, [=](int row) { return sums[row]; });
    left_tile left[its_state::row_tiles];
    KREF_UNROLL
    for (int i = 0; i < its_state::row_tiles; i++) {
        int first_row = (warp * its_state::row_tiles + i) * TILE_ROWS;
        left[i] = load_left(shared.late_keys + first_row * TOKEN_STRIDE, TOKEN_STRIDE);
    }
    KREF_UNROLL
    for (int j = 0; j < its_state::column_tiles; j += 2) {
        right_pair right = load_right_by_depth(shared.corrections + j * TILE_COLUMNS,
                                               COLUMN_STRIDE);
        KREF_UNROLL
        for (int i = 0; i < its_state::row_tiles; i++) {
            multiply_add(&state->at[i][j], left[i], right.at[0]);
            multiply_add(&state->at[i][j + 1], left[i], right.at[1]);
        }
    }
}

/* ---- The block: 64 columns of a head of a sequence ---- */

/* Returns how many of the tokens from `first` on it has taken; `left` are there. */
template <int Key_dim, bool Has_channel_decays>
KREF_FUNCTION int take_chunk(exchange<Key_dim, Has_channel_decays> *shared,
                             warp_state<Key_dim> *state, const delta_rule_args &args,
                             const state_place &place, int64_t first, int left, int warp) {
    chunk its(first, left);
    sum_decays(shared, args, place, &its);
    stage_keys(shared, args, place, its);
    __syncthreads();
    chunk_products products;
    clear_sums(products.predicted);
    clear_sums(products.read);
    clear_sums(products.seen);
    clear_sums(products.overlaps);
    multiply_chunk(&products, *shared, warp);
    f32 grown[LANE_ROWS] = {1.0F, 1.0F};
    if constexpr (!Has_channel_decays) {
        grown[0] = exp(shared->decay_sums[row_of(0)]);
        grown[1] = exp(shared->decay_sums[row_of(1)]);
    }
    leave_system(shared, args, place, its, products, grown, warp);
    __syncthreads();
    solve(shared);
    __syncthreads();
    put_outputs(*shared, args, place, its, &products, grown, warp);
    change_state(state, *shared, its, warp);
    share_state(shared, state, warp);
    __syncthreads(); /* the next chunk writes what this one has read */
    return its.count;
}

template <int Key_dim, bool Has_channel_decays>
__global__ void __launch_bounds__(THREADS) delta_prefill_kernel(delta_rule_args args) {
    auto *shared = reinterpret_cast<exchange<Key_dim, Has_channel_decays> *>(KREF_DYNAMIC_SHARED());
    int warp = static_cast<int>(threadIdx.x) / 32;
    int first = args.starts.get(blockIdx.z);
    int end = args.starts.get(blockIdx.z + 1);
    if (first == end) {
        return;
    }
    state_place place = {static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.x) * COLUMNS};
    int64_t state_at = place.state_at(args, args.slots.get(blockIdx.z), 0);
    global<float> states = args.states;
    int value_dim = args.value_dim;

    warp_state<Key_dim> state;
    state.for_each_pair(warp, [=](f32 *pair, int row, int column) {
        auto some = states.template get_pack<LANE_COLUMNS>(state_at + row * value_dim + column);
        pair[0] = some.at[0];
        pair[1] = some.at[1];
    });
    begin_state<Key_dim, Has_channel_decays>(&state, args, place, first, warp);
    share_state(shared, &state, warp);
    for (int token = first; token < end;) {
        token += take_chunk(shared, &state, args, place, token, end - token, warp);
    }
    state.for_each_pair(warp, [=](f32 *pair, int row, int column) {
        put_pair(states, state_at + row * value_dim + column, pair[0], pair[1]);
    });
}

template <int Key_dim, bool Has_channel_decays>
const char *launch_rule(const delta_rule_args &args, void *stream) {
    dim3 grid = {static_cast<unsigned>(args.value_dim / COLUMNS), static_cast<unsigned>(args.heads),
                 static_cast<unsigned>(args.sequences)};
    return launch("delta_prefill", delta_prefill_kernel<Key_dim, Has_channel_decays>, grid,
                  dim3{THREADS}, sizeof(exchange<Key_dim, Has_channel_decays>), stream, args);
}

template <int Key_dim> const char *launch_width(const delta_rule_args &args, void *stream) {
    return args.has_channel_decays ? launch_rule<Key_dim, true>(args, stream)
                                   : launch_rule<Key_dim, false>(args, stream);
}

} // namespace

const char *delta_prefill(const delta_rule_args &args, void *stream) {
    const char *refusal = delta_rule_refusal(args);
    if (refusal != nullptr || args.sequences == 0) {
        return refusal;
    }
    return args.key_dim == 64 ? launch_width<64>(args, stream) : launch_width<128>(args, stream);
}

} // namespace kref
