/*
 * prefill_attention against its oracle, over shapes that are no multiples of anything, and its
 * counts against their closed forms.
 */
#include "cuda/prefill_attention.h"
#include "oracle/attention.h"
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
    int query_heads;
    int kv_heads;
    int head_dim;
    int window_tokens = 0;
    float amplitude = 1.0F; /* of the queries: large ones make peaked weights */
};

/* A batch with its tensors. */
class prefill_case {
  public:
    explicit prefill_case(const batch &its)
        : its_(its), starts_(starts_of(its)), queries_(draw_queries()), keys_(draw_keys(2)),
          values_(draw_keys(3)) {
    }

    prefill_attention_args args() const {
        prefill_attention_args args = {};
        args.queries = queries_.data();
        args.keys = keys_.data();
        args.values = values_.data();
        args.query_starts = query_starts_.data();
        args.key_starts = key_starts_.data();
        args.sequences = static_cast<int>(its_.chunks.size());
        args.queries_max = longest();
        args.query_heads = its_.query_heads;
        args.kv_heads = its_.kv_heads;
        args.head_dim = its_.head_dim;
        args.window_tokens = its_.window_tokens;
        args.scale = 1.0F / std::sqrt(static_cast<float>(its_.head_dim));
        return args;
    }

    size_t outputs() const {
        return static_cast<size_t>(starts_.queries.back()) * width();
    }

    std::vector<double> run_exact() const {
        device_array<float> outputs(this->outputs());
        prefill_attention_args args = this->args();
        args.exact_outputs = outputs.data();
        assert_ran(prefill_attention(args, nullptr));
        return to_doubles(outputs.read());
    }

    std::vector<double> run_rounded() const {
        device_array<bf16> outputs(this->outputs());
        prefill_attention_args args = this->args();
        args.outputs = outputs.data();
        assert_ran(prefill_attention(args, nullptr));
        return to_doubles(outputs.read());
    }

    void expect(std::vector<double> *expected, std::vector<double> *tolerances) const {
        expected->assign(outputs(), 0.0);
        tolerances->assign(outputs(), 0.0);
        kref_heads heads = {its_.query_heads, its_.kv_heads, its_.head_dim, its_.window_tokens,
                            static_cast<double>(args().scale)};
        kref_expected its = {expected->data(), tolerances->data()};
        kref_prefill_attention(&heads, static_cast<int>(its_.chunks.size()), starts_.queries.data(),
                               starts_.keys.data(), to_doubles(queries_.read()).data(),
                               to_doubles(keys_.read()).data(), to_doubles(values_.read()).data(),
                               &its);
    }

    kref_work work(int output_bytes) const {
        std::vector<int32_t> queries;
        std::vector<int32_t> tokens;
        for (chunk it : its_.chunks) {
            queries.push_back(it.queries);
            tokens.push_back(it.queries + it.past);
        }
        kref_attention_shape shape = {};
        shape.sequences = static_cast<int>(queries.size());
        shape.queries = queries.data();
        shape.tokens = tokens.data();
        shape.queries_max = longest();
        shape.query_heads = its_.query_heads;
        shape.kv_heads = its_.kv_heads;
        shape.head_dim = its_.head_dim;
        shape.window_tokens = its_.window_tokens;
        shape.output_bytes = output_bytes;
        return kref_prefill_attention_work(&shape);
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

    size_t width() const {
        return static_cast<size_t>(its_.query_heads) * static_cast<size_t>(its_.head_dim);
    }

    int longest() const {
        int longest = 0;
        for (chunk it : its_.chunks) {
            longest = it.queries > longest ? it.queries : longest;
        }
        return longest;
    }

    std::vector<bf16> draw_queries() const {
        return draw_bf16(outputs(), 1, its_.amplitude);
    }

    std::vector<bf16> draw_keys(uint64_t seed) const {
        size_t width = static_cast<size_t>(its_.kv_heads) * static_cast<size_t>(its_.head_dim);
        return draw_bf16(static_cast<size_t>(starts_.keys.back()) * width, seed);
    }

    batch its_;
    starts starts_;
    device_array<bf16> queries_;
    device_array<bf16> keys_;
    device_array<bf16> values_;
    device_array<int32_t> query_starts_{starts_.queries};
    device_array<int32_t> key_starts_{starts_.keys};
};

/* Within the tolerance, and the same bits in every order. */
void agrees_with_oracle(const batch &its) {
    prefill_case it(its);
    std::vector<double> expected;
    std::vector<double> tolerances;
    it.expect(&expected, &tolerances);
    std::vector<double> first;
    in_every_order([&] {
        std::vector<double> actual = it.run_exact();
        assert_close(actual, expected, tolerances);
        if (first.empty()) {
            first = actual;
        }
        assert_true(actual == first);
    });
}

void one_token_sees_itself(void **) {
    agrees_with_oracle({{{1, 0}}, 1, 1, 64});
    agrees_with_oracle({{{1, 0}}, 2, 1, 128});
}

void chunk_sees_its_past(void **) {
    agrees_with_oracle({{{17, 28}}, 2, 2, 64});
    agrees_with_oracle({{{1, 64}}, 2, 1, 128});
    agrees_with_oracle({{{33, 95}}, 1, 1, 128});
    /* The last key of a tile is hidden from one query alone. */
    agrees_with_oracle({{{3, 62}}, 1, 1, 64});
    agrees_with_oracle({{{3, 30}}, 1, 1, 128});
}

void whole_tiles(void **) {
    agrees_with_oracle({{{128, 64}}, 1, 1, 64});
}

void ragged_batch_with_empty_sequences(void **) {
    agrees_with_oracle({{{0, 0}, {130, 3}, {0, 0}, {5, 0}, {1, 40}, {0, 9}}, 2, 1, 64});
}

void heads_share_keys(void **) {
    agrees_with_oracle({{{9, 4}}, 4, 4, 64});
    agrees_with_oracle({{{9, 4}}, 6, 2, 64});
    agrees_with_oracle({{{3, 2}}, 16, 1, 128});
}

void window_hides_what_is_far(void **) {
    agrees_with_oracle({{{100, 120}}, 1, 1, 64, 1});
    agrees_with_oracle({{{100, 120}}, 2, 1, 64, 37});
    agrees_with_oracle({{{140, 60}}, 1, 1, 128, 64});
    agrees_with_oracle({{{20, 10}}, 1, 1, 64, 1000});
}

void peaked_weights(void **) {
    agrees_with_oracle({{{40, 50}}, 2, 1, 128, 0, 60.0F});
}

void outputs_are_rounded_once(void **) {
    prefill_case it({{{45, 20}}, 2, 1, 64});
    std::vector<double> exact = it.run_exact();
    std::vector<double> rounded = it.run_rounded();
    for (size_t i = 0; i < exact.size(); i++) {
        assert_true(rounded[i] == kref_round_bf16(exact[i]));
    }
}

void bad_shapes_are_refused(void **) {
    prefill_case it({{{4, 0}}, 4, 2, 64});
    device_array<float> outputs(it.outputs());
    prefill_attention_args good = it.args();
    good.exact_outputs = outputs.data();
    assert_null(prefill_attention_refusal(good));

    prefill_attention_args bad = good;
    bad.head_dim = 96;
    assert_non_null(strstr(prefill_attention(bad, nullptr), "head_dim must be 64 or 128"));
    bad = good;
    bad.query_heads = 3;
    assert_non_null(strstr(prefill_attention(bad, nullptr), "multiple of kv_heads"));
    bad = good;
    bad.exact_outputs = nullptr;
    assert_non_null(strstr(prefill_attention(bad, nullptr), "one of the outputs"));
    bad = good;
    bad.window_tokens = -1;
    assert_non_null(strstr(prefill_attention(bad, nullptr), "window_tokens"));
    bad = good;
    bad.sequences = 65536;
    assert_non_null(strstr(prefill_attention(bad, nullptr), "65535"));
}

#if defined(KREF_COUNTS)

void assert_counts(const batch &its) {
    prefill_case it(its);
    begin_counting();
    it.run_exact();
    assert_counted(it.work(4));
    begin_counting();
    it.run_rounded();
    assert_counted(it.work(2));
}

void counts_equal_closed_forms(void **) {
    assert_counts({{{128, 0}}, 1, 1, 128});
    assert_counts({{{130, 3}, {0, 0}, {1, 77}}, 2, 1, 64});
    assert_counts({{{50, 200}}, 3, 1, 128, 40});
}

/* What lies in memory: each element is read at least once, and written once. */
void distinct_bytes_are_algorithmic(void **) {
    prefill_case it({{{130, 62}}, 4, 2, 64});
    emulation::current_settings().has_sectors = true;
    emulation::reset_tally();
    it.run_exact();
    emulation::tally counted = emulation::take_tally();
    emulation::current_settings().has_sectors = false;
    uint64_t index_sectors = 2; /* where sequences begin, of queries and of keys */
    uint64_t sectors = counted.read_sectors + counted.written_sectors - index_sectors;
    assert_int_equal(sectors * emulation::sector_bytes, it.work(4).algorithmic_bytes);
}

#endif

} // namespace

int main() {
    need_device();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_token_sees_itself),
        cmocka_unit_test(chunk_sees_its_past),
        cmocka_unit_test(whole_tiles),
        cmocka_unit_test(ragged_batch_with_empty_sequences),
        cmocka_unit_test(heads_share_keys),
        cmocka_unit_test(window_hides_what_is_far),
        cmocka_unit_test(peaked_weights),
        cmocka_unit_test(outputs_are_rounded_once),
        cmocka_unit_test(bad_shapes_are_refused),
#if defined(KREF_COUNTS)
        cmocka_unit_test(counts_equal_closed_forms),
        cmocka_unit_test(distinct_bytes_are_algorithmic),
#endif
    };
    return cmocka_run_group_tests_name("prefill_attention", tests, nullptr, nullptr);
}
