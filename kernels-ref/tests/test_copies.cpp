/*
 * block_copy and gather_rows: what arrives is what was there, to the byte, and nothing else is
 * touched; counts against closed forms.
 */
#include "cuda/block_copy.h"
#include "cuda/gather_rows.h"
#include "figures/copy.h"
#include "tests/checking.h"

namespace {

using namespace kref;
using namespace kref::tests;

/* ---- block_copy ---- */

std::vector<uint32_t> draw_words(size_t count, uint64_t seed) {
    dice its(seed);
    std::vector<uint32_t> words(count);
    for (uint32_t &word : words) {
        word = static_cast<uint32_t>(its.next());
    }
    return words;
}

/* Blocks of the pools that are copied; an empty list counts 0, 1, 2, ... */
struct copy_shape {
    std::vector<int32_t> source_blocks;
    std::vector<int32_t> target_blocks;
    size_t blocks;
    size_t block_bytes;

    size_t words() const {
        return block_bytes / sizeof(uint32_t);
    }
};

constexpr size_t pool_blocks = 9;

/* A batch of copies goes into no null stream. */
#if defined(KREF_ON_DEVICE)
const cudaStream_t stream_of_thread = cudaStreamPerThread;
#else
void *const stream_of_thread = nullptr;
#endif

size_t block_at(const std::vector<int32_t> &list, size_t at) {
    return list.empty() ? at : static_cast<size_t>(list[at]);
}

std::vector<uint32_t> expect_copied(const copy_shape &its, const std::vector<uint32_t> &source) {
    std::vector<uint32_t> target(pool_blocks * its.words(), ~0U);
    for (size_t i = 0; i < its.blocks; i++) {
        for (size_t j = 0; j < its.words(); j++) {
            target[block_at(its.target_blocks, i) * its.words() + j] =
                source[block_at(its.source_blocks, i) * its.words() + j];
        }
    }
    return target;
}

void copies_blocks(const copy_shape &its) {
    std::vector<uint32_t> words = draw_words(pool_blocks * its.words(), 1);
    std::vector<uint32_t> expected = expect_copied(its, words);
    device_array<uint32_t> source(words);
    device_array<int32_t> source_blocks(its.source_blocks);
    device_array<int32_t> target_blocks(its.target_blocks);
    block_copy_args args = {};
    args.source = source.data();
    args.blocks = static_cast<int>(its.blocks);
    args.block_bytes = static_cast<int64_t>(its.block_bytes);
    int lists = 0;
    lists += its.source_blocks.empty() ? 0 : 1;
    lists += its.target_blocks.empty() ? 0 : 1;
    in_every_order([&] {
        device_array<uint32_t> target(pool_blocks * its.words());
        args.target = target.data();
        args.source_blocks = its.source_blocks.empty() ? nullptr : source_blocks.data();
        args.target_blocks = its.target_blocks.empty() ? nullptr : target_blocks.data();
        begin_counting();
        assert_ran(block_copy(args, nullptr));
        assert_counted(kref_block_copy_work(args.blocks, args.block_bytes, lists));
        assert_true(target.read() == expected);
    });
    args.source_blocks = its.source_blocks.empty() ? nullptr : its.source_blocks.data();
    args.target_blocks = its.target_blocks.empty() ? nullptr : its.target_blocks.data();
    for (auto *copy : {block_copy_each, block_copy_batch}) {
        device_array<uint32_t> target(pool_blocks * its.words());
        args.target = target.data();
        assert_ran(copy(args, stream_of_thread));
        assert_true(target.read() == expected);
    }
}

const std::vector<int32_t> some_blocks = {7, 0, 3, 8};
const std::vector<int32_t> other_blocks = {1, 8, 2, 5};

void blocks_are_gathered_and_scattered(void **) {
    copies_blocks({some_blocks, {}, 4, 4096});
    copies_blocks({{}, some_blocks, 4, 4096});
    copies_blocks({some_blocks, other_blocks, 4, 4096});
    copies_blocks({{}, {}, 9, 64});
}

/* A single vector; one less and one more than a piece of 8 KiB; several pieces and a rest. */
void blocks_of_all_sizes(void **) {
    copies_blocks({some_blocks, other_blocks, 4, 16});
    copies_blocks({some_blocks, other_blocks, 4, 8192 - 16});
    copies_blocks({some_blocks, other_blocks, 4, 8192});
    copies_blocks({some_blocks, other_blocks, 4, 8192 + 16});
    copies_blocks({some_blocks, other_blocks, 2, 20000});
}

void no_blocks_are_no_work(void **) {
    copies_blocks({{}, {}, 0, 64});
}

#if defined(KREF_ON_DEVICE)

/* Pinned memory of the host on either side. */
void pinned_memory_is_reached(void **) {
    constexpr size_t bytes = 4 * 8192;
    constexpr size_t words = bytes / sizeof(uint32_t);
    void *memory = nullptr;
    require(cudaMallocHost(&memory, bytes) == cudaSuccess, "cudaMallocHost");
    auto *pinned = static_cast<uint32_t *>(memory);
    std::vector<uint32_t> drawn = draw_words(words, 3);
    memcpy(pinned, drawn.data(), bytes);
    device_array<uint32_t> there(words);
    block_copy_args args = {};
    args.source = pinned;
    args.target = there.data();
    args.blocks = 4;
    args.block_bytes = 8192;
    assert_ran(block_copy(args, nullptr));
    assert_true(there.read() == drawn);
    memset(pinned, 0, bytes);
    args.source = there.data();
    args.target = pinned;
    assert_ran(block_copy(args, nullptr));
    require(cudaDeviceSynchronize() == cudaSuccess, "cudaDeviceSynchronize");
    assert_memory_equal(pinned, drawn.data(), bytes);
    cudaFreeHost(pinned);
}

#endif

void block_copy_refuses_bad_shapes(void **) {
    block_copy_args args = {};
    args.blocks = 1;
    args.block_bytes = 24;
    assert_non_null(strstr(block_copy(args, nullptr), "multiple of 16"));
    assert_non_null(strstr(block_copy_each(args, nullptr), "multiple of 16"));
    assert_non_null(strstr(block_copy_batch(args, nullptr), "multiple of 16"));
    args.block_bytes = int64_t{1} << 30;
    assert_non_null(strstr(block_copy(args, nullptr), "536862720"));
    args.block_bytes = 16;
    args.blocks = -1;
    assert_non_null(strstr(block_copy(args, nullptr), "negative"));
}

/* ---- gather_rows ---- */

void gathers(int top, int width, int block_tokens, const std::vector<int32_t> &chosen) {
    constexpr int blocks_max = 6;
    auto sequences = static_cast<int>(chosen.size()) / top;
    std::vector<int32_t> table;
    for (int i = 0; i < sequences * blocks_max; i++) {
        table.push_back(i * 5 % (sequences * blocks_max));
    }
    auto wide = static_cast<size_t>(width);
    size_t tokens = table.size() * static_cast<size_t>(block_tokens);
    std::vector<bf16> cache = draw_bf16(tokens * wide, 4);
    std::vector<double> expected(chosen.size() * wide, 0.0);
    int found = 0;
    for (size_t i = 0; i < chosen.size(); i++) {
        if (chosen[i] < 0) {
            continue;
        }
        found++;
        size_t entry = i / static_cast<size_t>(top) * blocks_max +
                       static_cast<size_t>(chosen[i] / block_tokens);
        auto row = static_cast<size_t>(table[entry] * block_tokens + chosen[i] % block_tokens);
        for (size_t j = 0; j < wide; j++) {
            expected[i * wide + j] = static_cast<double>(to_float(cache[row * wide + j]));
        }
    }
    device_array<bf16> device_cache(cache);
    device_array<int32_t> block_table(table);
    device_array<int32_t> device_chosen(chosen);
    in_every_order([&] {
        device_array<bf16> rows(expected.size());
        gather_rows_args args = {};
        args.cache = device_cache.data();
        args.block_table = block_table.data();
        args.chosen = device_chosen.data();
        args.rows = rows.data();
        args.sequences = sequences;
        args.top = top;
        args.width = width;
        args.block_tokens = block_tokens;
        args.blocks_max = blocks_max;
        begin_counting();
        assert_ran(gather_rows(args, nullptr));
        assert_counted(kref_gather_rows_work(sequences * top, found, width));
        assert_true(to_doubles(rows.read()) == expected);
    });
}

void rows_are_gathered(void **) {
    gathers(3, 576, 16, {0, 95, 17, 2, 1, 0});
    gathers(5, 8, 7, {0, 41, -1, 3, -1});
    gathers(1, 264, 1, {5, -1, 0});
}

void gather_rows_refuses_bad_shapes(void **) {
    gather_rows_args args = {};
    args.sequences = 1;
    args.top = 1;
    args.width = 12;
    args.block_tokens = 16;
    assert_non_null(strstr(gather_rows(args, nullptr), "multiple of 8"));
    args.width = 8;
    args.block_tokens = 0;
    assert_non_null(strstr(gather_rows(args, nullptr), "block_tokens must be positive"));
    args.block_tokens = 1;
    args.top = -1;
    assert_non_null(strstr(gather_rows(args, nullptr), "negative"));
}

} // namespace

int main() {
    need_device();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_gathered_and_scattered),
        cmocka_unit_test(blocks_of_all_sizes),
        cmocka_unit_test(no_blocks_are_no_work),
#if defined(KREF_ON_DEVICE)
        cmocka_unit_test(pinned_memory_is_reached),
#endif
        cmocka_unit_test(block_copy_refuses_bad_shapes),
        cmocka_unit_test(rows_are_gathered),
        cmocka_unit_test(gather_rows_refuses_bad_shapes),
    };
    return cmocka_run_group_tests_name("copies", tests, nullptr, nullptr);
}
