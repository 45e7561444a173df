/*
 * mla_prefill against its oracle, over shapes that are no multiples of anything, and its counts
 * against their closed forms.
 */
#include "cuda/mla_prefill.h"
#include "figures/work.h"
#include "oracle/mla.h"
#include "oracle/rounding.h"
#include "tests/checking.h"

namespace {

using namespace kref;
using namespace kref::tests;

struct chunk {
    int32_t queries;
    int32_t past;
};

struct batch {
    std::vector<chunk> chunks;
    int heads;
    float amplitude = 1.0F; /* of the queries: large ones make peaked weights */
};

/* A batch with its tensors. */
class mla_case {
  public:
    explicit mla_case(const batch &its)
        : its_(its), starts_(starts_of(its)),
          queries_(draw_bf16(query_rows() * MLA_KEY, 1, its.amplitude)),
          expanded_(draw_bf16(keys() * heads() * MLA_EXPANDED, 2)),
          rows_(draw_bf16(keys() * MLA_ROW, 3)) {
    }

    mla_prefill_args args() const {
        mla_prefill_args args = {};
        args.queries = queries_.data();
        args.expanded = expanded_.data();
        args.rows = rows_.data();
        args.query_starts = query_starts_.data();
        args.key_starts = key_starts_.data();
        args.sequences = static_cast<int>(its_.chunks.size());
        args.queries_max = longest();
        args.heads = its_.heads;
        args.scale = 1.0F / std::sqrt(192.0F);
        return args;
    }

    size_t outputs() const {
        return query_rows() * MLA_VALUE;
    }

    std::vector<double> run_exact() const {
        device_array<float> outputs(this->outputs());
        mla_prefill_args args = this->args();
        args.exact_outputs = outputs.data();
        assert_ran(mla_prefill(args, nullptr));
        return to_doubles(outputs.read());
    }

    std::vector<double> run_rounded() const {
        device_array<bf16> outputs(this->outputs());
        mla_prefill_args args = this->args();
        args.outputs = outputs.data();
        assert_ran(mla_prefill(args, nullptr));
        return to_doubles(outputs.read());
    }

    void expect(std::vector<double> *expected, std::vector<double> *tolerances) const {
        expected->assign(outputs(), 0.0);
        tolerances->assign(outputs(), 0.0);
        kref_mla mla = {its_.heads, MLA_LATENT, MLA_ROPE,
                        MLA_NOPE,   MLA_VALUE,  static_cast<double>(args().scale)};
        kref_expected its = {expected->data(), tolerances->data()};
        kref_mla_prefill(&mla, static_cast<int>(its_.chunks.size()), starts_.queries.data(),
                         starts_.keys.data(), to_doubles(queries_.read()).data(),
                         to_doubles(expanded_.read()).data(), to_doubles(rows_.read()).data(),
                         &its);
    }

    kref_work work(int output_bytes) const {
        std::vector<int32_t> queries;
        std::vector<int32_t> tokens;
        for (chunk it : its_.chunks) {
            queries.push_back(it.queries);
            tokens.push_back(it.queries + it.past);
        }
        kref_mla_shape shape = {};
        shape.sequences = static_cast<int>(queries.size());
        shape.queries = queries.data();
        shape.tokens = tokens.data();
        shape.queries_max = longest();
        shape.heads = its_.heads;
        shape.output_bytes = output_bytes;
        return kref_mla_prefill_work(&shape);
    }

  private:
    struct starts {
        std::vector<int32_t> queries = {0};
        std::vector<int32_t> keys = {0};
    };

    static starts starts_of(const batch &its) {
        starts all;
        for (chunk it : its.chunks) {
            all.queries.push_back(all.queries.back() + it.queries);
            all.keys.push_back(all.keys.back() + it.queries + it.past);
        }
        return all;
    }

    size_t heads() const {
        return static_cast<size_t>(its_.heads);
    }

    size_t keys() const {
        return static_cast<size_t>(starts_.keys.back());
    }

    size_t query_rows() const {
        return static_cast<size_t>(starts_.queries.back()) * heads();
    }

    int longest() const {
        int longest = 0;
        for (chunk it : its_.chunks) {
            longest = it.queries > longest ? it.queries : longest;
        }
        return longest;
    }

    batch its_;
    starts starts_;
    device_array<bf16> queries_;
    device_array<bf16> expanded_;
    device_array<bf16> rows_;
    device_array<int32_t> query_starts_{starts_.queries};
    device_array<int32_t> key_starts_{starts_.keys};
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

void one_token_sees_itself(void **) {
    agrees_with_oracle({{{1, 0}}, 1});
}

void chunk_sees_its_past(void **) {
    agrees_with_oracle({{{17, 28}}, 2});
    agrees_with_oracle({{{33, 95}}, 1});
    agrees_with_oracle({{{1, 64}}, 3});
    agrees_with_oracle({{{3, 30}}, 1}); /* the last key of a tile is hidden from one query alone */
}

void whole_tiles(void **) {
    agrees_with_oracle({{{128, 32}}, 1});
}

void ragged_batch_with_empty_sequences(void **) {
    agrees_with_oracle({{{0, 0}, {130, 3}, {0, 0}, {5, 0}, {1, 40}, {0, 9}}, 1});
}

void peaked_weights(void **) {
    agrees_with_oracle({{{40, 20}}, 1, 60.0F});
}

void outputs_are_rounded_once(void **) {
    mla_case it({{{25, 20}}, 2});
    std::vector<double> exact = it.run_exact();
    std::vector<double> rounded = it.run_rounded();
    for (size_t i = 0; i < exact.size(); i++) {
        assert_true(rounded[i] == kref_round_bf16(exact[i]));
    }
}

void bad_shapes_are_refused(void **) {
    mla_case it({{{4, 0}}, 1});
    device_array<float> outputs(it.outputs());
    mla_prefill_args good = it.args();
    good.exact_outputs = outputs.data();
    assert_null(mla_prefill_refusal(good));

    mla_prefill_args bad = good;
    bad.heads = 0;
    assert_non_null(strstr(mla_prefill(bad, nullptr), "1 to 65535 heads"));
    bad = good;
    bad.sequences = -1;
    assert_non_null(strstr(mla_prefill(bad, nullptr), "65535 sequences"));
    bad = good;
    bad.queries_max = -1;
    assert_non_null(strstr(mla_prefill(bad, nullptr), "queries_max"));
    bad = good;
    bad.exact_outputs = nullptr;
    assert_non_null(strstr(mla_prefill(bad, nullptr), "one of the outputs"));
}

} // namespace

int main() {
    need_device();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_token_sees_itself),
        cmocka_unit_test(chunk_sees_its_past),
        cmocka_unit_test(whole_tiles),
        cmocka_unit_test(ragged_batch_with_empty_sequences),
        cmocka_unit_test(peaked_weights),
        cmocka_unit_test(outputs_are_rounded_once),
        cmocka_unit_test(bad_shapes_are_refused),
    };
    return cmocka_run_group_tests_name("mla_prefill", tests, nullptr, nullptr);
}
