/*
 * mla_decode against its oracle: pages in any order, splits, heads that fill no tile, sequences of
 * all lengths; and its counts against their closed forms.
 */
#include "cuda/mla_decode.h"
#include "figures/work.h"
#include "oracle/mla.h"
#include "oracle/rounding.h"
#include "tests/paging.h"

namespace {

using namespace kref;
using namespace kref::tests;

struct batch {
    std::vector<int32_t> lengths;
    int heads;
    int block_tokens = 16;
    int splits = 1;
    float amplitude = 1.0F; /* of the queries: large ones make peaked weights */
};

class mla_case {
  public:
    explicit mla_case(const batch &its)
        : its_(its), pages_(draw_pages(its.lengths, its.block_tokens)),
          queries_(draw_bf16(rows() * MLA_ROW, 1, its.amplitude)),
          cache_(draw_bf16(pages_.slots() * MLA_ROW, 2)), block_table_(pages_.table),
          lengths_(its.lengths) {
    }

    mla_decode_args args() const {
        mla_decode_args args = {};
        args.queries = queries_.data();
        args.cache = cache_.data();
        args.block_table = block_table_.data();
        args.lengths = lengths_.data();
        args.sequences = static_cast<int>(its_.lengths.size());
        args.heads = its_.heads;
        args.block_tokens = its_.block_tokens;
        args.blocks_max = pages_.blocks_max;
        args.splits = its_.splits;
        args.scale = 1.0F / std::sqrt(192.0F);
        return args;
    }

    size_t outputs() const {
        return rows() * MLA_LATENT;
    }

    std::vector<double> run_exact() const {
        device_array<float> outputs(this->outputs());
        mla_decode_args args = this->args();
        args.exact_outputs = outputs.data();
        run(&args);
        return to_doubles(outputs.read());
    }

    std::vector<double> run_rounded() const {
        device_array<bf16> outputs(this->outputs());
        mla_decode_args args = this->args();
        args.outputs = outputs.data();
        run(&args);
        return to_doubles(outputs.read());
    }

    void expect(std::vector<double> *expected, std::vector<double> *tolerances) const {
        expected->assign(outputs(), 0.0);
        tolerances->assign(outputs(), 0.0);
        kref_mla mla = {};
        mla.heads = its_.heads;
        mla.latent = MLA_LATENT;
        mla.rope = MLA_ROPE;
        mla.scale = static_cast<double>(args().scale);
        kref_paging paging = {pages_.table.data(), its_.lengths.data(), pages_.blocks_max,
                              its_.block_tokens};
        kref_expected its = {expected->data(), tolerances->data()};
        kref_mla_decode(&mla, static_cast<int>(its_.lengths.size()), &paging,
                        to_doubles(queries_.read()).data(), to_doubles(cache_.read()).data(), &its);
    }

    kref_work work(int output_bytes) const {
        kref_mla_shape shape = {};
        shape.sequences = static_cast<int>(its_.lengths.size());
        shape.tokens = its_.lengths.data();
        shape.heads = its_.heads;
        shape.splits = its_.splits;
        shape.output_bytes = output_bytes;
        return kref_mla_decode_work(&shape);
    }

  private:
    void run(mla_decode_args *args) const {
        device_array<float> workspace(static_cast<size_t>(mla_decode_workspace(*args)));
        args->workspace = its_.splits > 1 ? workspace.data() : nullptr;
        assert_ran(mla_decode(*args, nullptr));
    }

    /* Query heads of all sequences. */
    size_t rows() const {
        return its_.lengths.size() * static_cast<size_t>(its_.heads);
    }

    batch its_;
    paged_batch pages_;
    device_array<bf16> queries_;
    device_array<bf16> cache_;
    device_array<int32_t> block_table_;
    device_array<int32_t> lengths_;
};

/* Within the tolerance, the same bits in every order, and exactly the FLOPs and bytes. */
void agrees_with_oracle(const batch &its) {
    mla_case it(its);
    std::vector<double> expected;
    std::vector<double> tolerances;
    it.expect(&expected, &tolerances);
    std::vector<double> first;
    in_every_order([&] {
        begin_counting();
        std::vector<double> actual = it.run_exact();
        assert_counted(it.work(4));
        assert_close(actual, expected, tolerances);
        if (first.empty()) {
            first = actual;
        }
        assert_true(actual == first);
    });
}

void lengths_of_all_kinds(void **) {
    agrees_with_oracle({{1, 17, 31, 32, 33, 100}, 2});
}

void heads_of_all_kinds(void **) {
    agrees_with_oracle({{37}, 1});
    agrees_with_oracle({{37}, 16});
    agrees_with_oracle({{50}, 17});
    agrees_with_oracle({{50}, 70});
}

void pages_of_any_size(void **) {
    agrees_with_oracle({{50, 7}, 1, 7});
    agrees_with_oracle({{50, 7}, 1, 1});
    agrees_with_oracle({{50, 7}, 1, 64});
}

/* Of 100 tokens in 32s, two splits have 64 and 36, and five leave one with nothing. */
void splits_are_combined(void **) {
    agrees_with_oracle({{100, 3}, 3, 16, 2});
    agrees_with_oracle({{100, 3}, 20, 16, 5});
}

void empty_sequences_give_zeros(void **) {
    agrees_with_oracle({{0, 20}, 2});
    agrees_with_oracle({{0, 20, 0}, 2, 16, 3});
    agrees_with_oracle({{}, 2});
}

/* Scores also so far apart that weights relative to another than the highest would overflow. */
void peaked_weights(void **) {
    agrees_with_oracle({{70}, 4, 16, 2, 60.0F});
    agrees_with_oracle({{70}, 4, 16, 1, 400.0F});
}

void outputs_are_rounded_once(void **) {
    for (int splits = 1; splits <= 2; splits++) {
        mla_case it({{40, 5}, 3, 16, splits});
        std::vector<double> exact = it.run_exact();
        std::vector<double> rounded = it.run_rounded();
        for (size_t i = 0; i < exact.size(); i++) {
            assert_true(rounded[i] == kref_round_bf16(exact[i]));
        }
    }
}

void bad_shapes_are_refused(void **) {
    mla_case it({{4}, 2});
    device_array<float> outputs(it.outputs());
    mla_decode_args good = it.args();
    good.exact_outputs = outputs.data();
    assert_null(mla_decode_refusal(good));

    mla_decode_args bad = good;
    bad.heads = 0;
    assert_non_null(strstr(mla_decode(bad, nullptr), "1 to 65535 heads"));
    bad = good;
    bad.sequences = 65536;
    assert_non_null(strstr(mla_decode(bad, nullptr), "65535 sequences"));
    bad = good;
    bad.block_tokens = 0;
    assert_non_null(strstr(mla_decode(bad, nullptr), "block_tokens must be positive"));
    bad = good;
    bad.splits = 2;
    assert_non_null(strstr(mla_decode(bad, nullptr), "need a workspace"));
    bad = good;
    bad.exact_outputs = nullptr;
    assert_non_null(strstr(mla_decode(bad, nullptr), "one of the outputs"));
}

} // namespace

int main() {
    need_device();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_of_all_kinds),       cmocka_unit_test(heads_of_all_kinds),
        cmocka_unit_test(pages_of_any_size),          cmocka_unit_test(splits_are_combined),
        cmocka_unit_test(empty_sequences_give_zeros), cmocka_unit_test(peaked_weights),
        cmocka_unit_test(outputs_are_rounded_once),   cmocka_unit_test(bad_shapes_are_refused),
    };
    return cmocka_run_group_tests_name("mla_decode", tests, nullptr, nullptr);
}
