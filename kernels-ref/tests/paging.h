/*
 * Pages of a cache in an order that nothing may lean on, for the tests of what reads them.
 */
#ifndef KREF_TESTS_PAGING_H
#define KREF_TESTS_PAGING_H

#include "tests/checking.h"

namespace kref::tests {

/* Sequences that share a pool of as many blocks as the table has entries. */
struct paged_batch {
    std::vector<int32_t> lengths; /* in tokens */
    int block_tokens;
    int blocks_max; /* entries of a sequence: one more than the longest needs */
    std::vector<int32_t> table;

    /* Rows of the pool. */
    size_t slots() const {
        return table.size() * static_cast<size_t>(block_tokens);
    }
};

/* Every block of the pool at some place of the table, shuffled; what lies behind a sequence's end
 * names a block that does not exist. */
inline paged_batch draw_pages(const std::vector<int32_t> &lengths, int block_tokens) {
    int longest = 0;
    for (int32_t length : lengths) {
        longest = length > longest ? length : longest;
    }
    paged_batch drawn = {
        lengths, block_tokens, (longest - 1 + block_tokens) / block_tokens + 1, {}};
    auto row = static_cast<size_t>(drawn.blocks_max);
    std::vector<int32_t> &table = drawn.table;
    table.resize(lengths.size() * row);
    dice its(5);
    for (size_t i = 0; i < table.size(); i++) {
        auto other = static_cast<size_t>(its.next() % (i + 1));
        table[i] = table[other];
        table[other] = static_cast<int32_t>(i);
    }
    for (size_t s = 0; s < lengths.size(); s++) {
        auto used = static_cast<size_t>((lengths[s] + block_tokens - 1) / block_tokens);
        for (size_t i = used; i < row; i++) {
            table[s * row + i] = 1 << 30;
        }
    }
    return drawn;
}

} // namespace kref::tests

#endif
