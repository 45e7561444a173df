/*
 * peer_sum: the shares of all ranks together against the oracle, in memory that is not really
 * apart; counts of each share against its closed form.
 */
#include "cuda/peer_sum.h"
#include "figures/peers.h"
#include "oracle/peers.h"
#include "oracle/rounding.h"
#include "tests/checking.h"

#include <memory>

namespace {

using namespace kref;
using namespace kref::tests;

using ranks_of_doubles = std::vector<std::vector<double>>;

void expect_sum(const ranks_of_doubles &inputs, int elements, std::vector<double> *sums,
                std::vector<double> *tolerances) {
    std::vector<const double *> pointers;
    for (const std::vector<double> &input : inputs) {
        pointers.push_back(input.data());
    }
    sums->resize(static_cast<size_t>(elements));
    tolerances->resize(static_cast<size_t>(elements));
    kref_expected expected = {sums->data(), tolerances->data()};
    kref_peer_sum(pointers.data(), static_cast<int>(inputs.size()), elements, &expected);
    for (size_t i = 0; i < sums->size(); i++) {
        (*tolerances)[i] += KREF_BF16_UNIT * std::fabs((*sums)[i]);
    }
}

void sums_over(int ranks, int elements) {
    auto count = static_cast<size_t>(elements);
    peer_sum_args args = {};
    args.ranks = ranks;
    args.elements = elements;
    std::vector<std::unique_ptr<device_array<bf16>>> inputs;
    ranks_of_doubles values;
    for (int rank = 0; rank < ranks; rank++) {
        std::vector<bf16> drawn = draw_bf16(count, static_cast<uint64_t>(rank) + 1);
        values.push_back(to_doubles(drawn));
        inputs.push_back(std::make_unique<device_array<bf16>>(drawn));
        args.inputs[rank] = inputs.back()->data();
    }
    std::vector<double> sums;
    std::vector<double> tolerances;
    expect_sum(values, elements, &sums, &tolerances);
    in_every_order([&] {
        std::vector<std::unique_ptr<device_array<bf16>>> outputs;
        for (int rank = 0; rank < ranks; rank++) {
            outputs.push_back(std::make_unique<device_array<bf16>>(count));
            args.outputs[rank] = outputs.back()->data();
        }
        for (int rank = ranks - 1; rank >= 0; rank--) {
            args.rank = rank;
            begin_counting();
            assert_ran(peer_sum(args, nullptr));
            assert_counted(kref_peer_sum_work(ranks, rank, elements));
        }
        for (int rank = 0; rank < ranks; rank++) {
            assert_close(to_doubles(outputs[static_cast<size_t>(rank)]->read()), sums, tolerances);
        }
    });
}

void all_ranks_get_the_sum(void **) {
    sums_over(2, 4096);
    sums_over(4, 2048 + 8);
    sums_over(8, 8 * 8 * 300);
}

/* One alone; parts of different size; more ranks than packs, so that some have no part. */
void parts_of_all_sizes(void **) {
    sums_over(1, 40);
    sums_over(3, 56);
    sums_over(7, 24);
    sums_over(2, 8);
    sums_over(2, 0);
}

void bad_shapes_are_refused(void **) {
    peer_sum_args args = {};
    args.ranks = 9;
    assert_non_null(strstr(peer_sum(args, nullptr), "1 to 8"));
    args.ranks = 2;
    args.rank = 2;
    assert_non_null(strstr(peer_sum(args, nullptr), "one of them"));
    args.rank = 1;
    args.elements = 12;
    assert_non_null(strstr(peer_sum(args, nullptr), "multiple of 8"));
}

} // namespace

int main() {
    need_device();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ranks_get_the_sum),
        cmocka_unit_test(parts_of_all_sizes),
        cmocka_unit_test(bad_shapes_are_refused),
    };
    return cmocka_run_group_tests_name("peer_sum", tests, nullptr, nullptr);
}
