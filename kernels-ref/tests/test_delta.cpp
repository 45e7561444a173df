/*
 * delta_step and delta_prefill against the recurrence and against each other: one decay a head and
 * one a channel, chunks of all lengths, shared keys; and their counts against closed forms.
 */
#include "cuda/delta_rule.h"
#include "figures/delta.h"
#include "oracle/delta.h"
#include "oracle/rounding.h"
#include "tests/checking.h"

namespace {

using namespace kref;
using namespace kref::tests;

struct delta_shape {
    std::vector<int32_t> tokens; /* of each sequence */
    int key_heads;
    int heads;
    int key_dim;
    int value_dim;
    bool has_channel_decays;
    float decay_max = 0.5F; /* g lies between its opposite and 0 */
    float decay_min = 0.0F;
    int chunk_tokens = 0; /* as in kref_delta_shape; -1 = chunks differ, so work is not known */
};

using run_kernel = const char *(*)(const delta_rule_args &args, void *stream);
using find_work = kref_work (*)(const kref_delta_shape *shape);

/* Rows of length 1, as a model normalises its keys. */
std::vector<bf16> draw_unit_rows(size_t rows, size_t width, uint64_t seed) {
    std::vector<bf16> values = draw_bf16(rows * width, seed);
    for (size_t row = 0; row < rows; row++) {
        double squares = 0.0;
        for (size_t i = 0; i < width; i++) {
            double value = static_cast<double>(to_float(values[row * width + i]));
            squares += value * value;
        }
        for (size_t i = 0; i < width; i++) {
            bf16 &value = values[row * width + i];
            value = to_bf16(to_float(value) / static_cast<float>(std::sqrt(squares)));
        }
    }
    return values;
}

/* Between low and high. */
std::vector<float> draw_between(size_t count, uint64_t seed, float low, float high) {
    dice its(seed);
    std::vector<float> values(count);
    for (float &value : values) {
        value = low + (high - low) * 0.5F * (its.signed_unit() + 1.0F);
    }
    return values;
}

std::vector<int32_t> starts_of(const std::vector<int32_t> &counts) {
    std::vector<int32_t> starts = {0};
    for (int32_t count : counts) {
        starts.push_back(starts.back() + count);
    }
    return starts;
}

class delta_case {
  public:
    explicit delta_case(const delta_shape &its)
        : its_(its), starts_(starts_of(its.tokens)),
          queries_(draw_unit_rows(tokens() * size(its.key_heads), size(its.key_dim), 1)),
          keys_(draw_unit_rows(tokens() * size(its.key_heads), size(its.key_dim), 2)),
          values_(draw_bf16(outputs(), 3)),
          decays_(draw_between(tokens() * size(its.heads) *
                                   (its.has_channel_decays ? size(its.key_dim) : 1),
                               4, -its.decay_max, -its.decay_min)),
          strengths_(draw_between(tokens() * size(its.heads), 5, 0.0F, 1.0F)),
          states_(draw_between(slots() * state_elements(), 6, -0.2F, 0.2F)) {
        for (size_t s = 0; s < its.tokens.size(); s++) {
            state_slots_.push_back(static_cast<int32_t>(slots() - 1 - s));
        }
    }

    struct result {
        std::vector<double> outputs;
        std::vector<double> states;
    };

    result run(run_kernel kernel, find_work work) const {
        result all;
        all.outputs = run_as<float>(kernel, work, &all.states);
        return all;
    }

    result run_rounded(run_kernel kernel, find_work work) const {
        result all;
        all.outputs = run_as<bf16>(kernel, work, &all.states);
        return all;
    }

    /* Outputs and states with their tolerances. */
    void expect(double unit, result *expected, result *tolerances) const {
        expected->outputs.assign(outputs(), 0.0);
        tolerances->outputs.assign(outputs(), 0.0);
        expected->states = to_doubles(states_);
        tolerances->states.assign(expected->states.size(), 0.0);
        std::vector<double> queries = to_doubles(queries_);
        std::vector<double> keys = to_doubles(keys_);
        std::vector<double> values = to_doubles(values_);
        std::vector<double> decays = to_doubles(decays_);
        std::vector<double> strengths = to_doubles(strengths_);
        kref_delta_rule rule = {its_.key_heads,          its_.heads, its_.key_dim, its_.value_dim,
                                its_.has_channel_decays, scale,      unit};
        for (size_t s = 0; s < its_.tokens.size(); s++) {
            auto first = size(starts_[s]);
            size_t key_at = first * size(its_.key_heads) * size(its_.key_dim);
            size_t value_at = first * size(its_.heads) * size(its_.value_dim);
            size_t state_at = size(state_slots_[s]) * state_elements();
            kref_expected out = {expected->outputs.data() + value_at,
                                 tolerances->outputs.data() + value_at};
            kref_delta_tokens(
                &rule, its_.tokens[s], queries.data() + key_at, keys.data() + key_at,
                values.data() + value_at, decays.data() + first * (decays.size() / tokens_or_one()),
                strengths.data() + first * size(its_.heads), expected->states.data() + state_at,
                tolerances->states.data() + state_at, &out);
        }
    }

    delta_rule_args args() const {
        delta_rule_args args = {};
        args.sequences = static_cast<int>(its_.tokens.size());
        args.key_heads = its_.key_heads;
        args.heads = its_.heads;
        args.key_dim = its_.key_dim;
        args.value_dim = its_.value_dim;
        args.has_channel_decays = its_.has_channel_decays;
        args.scale = static_cast<float>(scale);
        return args;
    }

  private:
    static constexpr double scale = 0.75;

    static size_t size(int value) {
        return static_cast<size_t>(value);
    }
    size_t tokens() const {
        return size(starts_.back());
    }
    size_t tokens_or_one() const {
        return tokens() > 0 ? tokens() : 1;
    }
    size_t slots() const {
        return its_.tokens.size() + 1;
    }
    size_t outputs() const {
        return tokens() * size(its_.heads) * size(its_.value_dim);
    }
    size_t state_elements() const {
        return size(its_.heads) * size(its_.key_dim) * size(its_.value_dim);
    }

    template <typename Output>
    std::vector<double> run_as(run_kernel kernel, find_work work,
                               std::vector<double> *final_states) const {
        device_array<bf16> queries(queries_);
        device_array<bf16> keys(keys_);
        device_array<bf16> values(values_);
        device_array<float> decays(decays_);
        device_array<float> strengths(strengths_);
        device_array<int32_t> starts(starts_);
        device_array<int32_t> slots(state_slots_);
        device_array<float> states(states_);
        device_array<Output> outputs(this->outputs());
        delta_rule_args args = this->args();
        args.queries = queries.data();
        args.keys = keys.data();
        args.values = values.data();
        args.log_decays = decays.data();
        args.strengths = strengths.data();
        args.starts = starts.data();
        args.slots = slots.data();
        args.states = states.data();
        if constexpr (sizeof(Output) == sizeof(float)) {
            args.exact_outputs = outputs.data();
        } else {
            args.outputs = outputs.data();
        }
        kref_delta_shape shape = {
            args.sequences, its_.tokens.data(),      its_.key_heads, its_.heads,       its_.key_dim,
            its_.value_dim, its_.has_channel_decays, sizeof(Output), its_.chunk_tokens};
        begin_counting();
        assert_ran(kernel(args, nullptr));
        if (its_.chunk_tokens >= 0) {
            assert_counted(work(&shape));
        }
        *final_states = to_doubles(states.read());
        return to_doubles(outputs.read());
    }

    delta_shape its_;
    std::vector<int32_t> starts_;
    std::vector<bf16> queries_;
    std::vector<bf16> keys_;
    std::vector<bf16> values_;
    std::vector<float> decays_;
    std::vector<float> strengths_;
    std::vector<float> states_;
    std::vector<int32_t> state_slots_;
};

/* Within the tolerance, and the same bits in every order. */
void agrees(const delta_shape &its, run_kernel kernel, find_work work, double unit) {
    delta_case it(its);
    delta_case::result expected;
    delta_case::result tolerances;
    it.expect(unit, &expected, &tolerances);
    delta_case::result first;
    in_every_order([&] {
        delta_case::result actual = it.run(kernel, work);
        assert_close(actual.outputs, expected.outputs, tolerances.outputs);
        assert_close(actual.states, expected.states, tolerances.states);
        if (first.states.empty()) {
            first = actual;
        }
        assert_true(actual.outputs == first.outputs && actual.states == first.states);
    });
}

void step_agrees(const delta_shape &its) {
    agrees(its, delta_step, kref_delta_step_work, KREF_STEP_UNIT(its.key_dim));
}

void steps_of_one_token(void **) {
    step_agrees({{1, 1, 1}, 1, 1, 64, 64, false});
    step_agrees({{1, 1}, 2, 2, 128, 128, false});
    step_agrees({{1, 1}, 2, 2, 128, 64, true});
}

/* A draft is checked in one go; a sequence may have nothing to do. */
void steps_of_several_tokens(void **) {
    step_agrees({{4, 0, 2}, 1, 1, 64, 64, false});
    step_agrees({{0, 5}, 1, 1, 64, 64, true});
    step_agrees({{40}, 1, 1, 64, 64, false, 0.05F});
}

void heads_share_keys(void **) {
    step_agrees({{2, 1}, 2, 6, 64, 64, false});
    step_agrees({{2, 1}, 1, 2, 64, 64, true});
}

void chunks_agree(const delta_shape &its) {
    agrees(its, delta_prefill, kref_delta_prefill_work, KREF_CHUNK_UNIT);
}

/* One token, one less and one more than a chunk, several chunks and a rest, nothing. */
void chunks_of_all_lengths(void **) {
    chunks_agree({{1, 15, 16, 17, 0, 37}, 1, 1, 64, 64, false});
    chunks_agree({{1, 16, 0, 37}, 1, 1, 64, 64, true});
    chunks_agree({{18}, 1, 1, 128, 128, false});
    chunks_agree({{18}, 1, 1, 128, 64, true});
}

void chunks_share_keys(void **) {
    chunks_agree({{18, 3}, 2, 4, 64, 64, false});
    chunks_agree({{18, 3}, 1, 2, 64, 64, true});
}

/* So fast that a state is gone within a chunk. */
void fast_decays(void **) {
    chunks_agree({{33}, 1, 1, 64, 64, false, 40.0F});
    chunks_agree({{33}, 1, 1, 64, 64, true, 5.0F});
    chunks_agree({{40}, 1, 1, 64, 64, true, 40.0F, 0.0F, -1});
    step_agrees({{3}, 1, 1, 64, 64, false, 40.0F});
}

/* A chunk of n tokens has n - 1 decays within. They may add up to -80, not to less; and each may be
 * so fast that a token has the chunk for itself. The counts tell how long the chunks were. */
void chunks_are_cut_before_decays_overflow(void **) {
    chunks_agree({{35, 1, 7}, 1, 1, 64, 64, true, 5.0F, 5.0F, 16});
    chunks_agree({{35}, 1, 1, 64, 64, true, 5.5F, 5.5F, 15});
    chunks_agree({{20}, 1, 2, 128, 64, true, 16.0F, 16.0F, 6});
    chunks_agree({{20}, 1, 1, 64, 64, true, 16.1F, 16.1F, 5});
    chunks_agree({{9, 2}, 1, 1, 64, 64, true, 80.0F, 80.0F, 2});
    chunks_agree({{3}, 1, 1, 64, 64, true, 1000.0F, 1000.0F, 1});
    chunks_agree({{20}, 1, 1, 64, 64, false, 1000.0F, 1000.0F, 16});
}

void slow_decays(void **) {
    chunks_agree({{20}, 1, 1, 64, 64, false, 0.01F});
    chunks_agree({{20}, 1, 1, 64, 64, true, 0.01F});
}

/* The tolerance is that of chunks; what the other way is off is small beside it. */
void chunked_equals_recurrent(void **) {
    delta_case it({{45, 16}, 1, 2, 64, 64, true});
    delta_case::result ignored;
    delta_case::result tolerances;
    it.expect(KREF_CHUNK_UNIT, &ignored, &tolerances);
    delta_case::result chunked = it.run(delta_prefill, kref_delta_prefill_work);
    delta_case::result recurrent = it.run(delta_step, kref_delta_step_work);
    assert_close(chunked.outputs, recurrent.outputs, tolerances.outputs);
    assert_close(chunked.states, recurrent.states, tolerances.states);
}

void rounded_once(run_kernel kernel, find_work work) {
    delta_case it({{19}, 1, 2, 64, 64, false});
    delta_case::result exact = it.run(kernel, work);
    delta_case::result rounded = it.run_rounded(kernel, work);
    for (size_t i = 0; i < exact.outputs.size(); i++) {
        assert_true(rounded.outputs[i] == kref_round_bf16(exact.outputs[i]));
    }
}

void outputs_are_rounded_once(void **) {
    rounded_once(delta_step, kref_delta_step_work);
    rounded_once(delta_prefill, kref_delta_prefill_work);
}

void bad_shapes_are_refused(void **) {
    delta_case it({{1}, 2, 2, 64, 64, false});
    float output = 0.0F;
    delta_rule_args good = it.args();
    good.exact_outputs = &output;
    assert_null(delta_rule_refusal(good));
    delta_rule_args bad = good;
    bad.heads = 3;
    assert_non_null(strstr(delta_step(bad, nullptr), "a multiple of key_heads"));
    bad = good;
    bad.key_dim = 96;
    assert_non_null(strstr(delta_step(bad, nullptr), "key_dim must be 64 or 128"));
    bad = good;
    bad.value_dim = 32;
    assert_non_null(strstr(delta_step(bad, nullptr), "multiple of 64"));
    bad = good;
    bad.exact_outputs = nullptr;
    assert_non_null(strstr(delta_step(bad, nullptr), "one of the outputs"));
    assert_non_null(strstr(delta_prefill(bad, nullptr), "one of the outputs"));
    bad = good;
    bad.sequences = -1;
    assert_non_null(strstr(delta_step(bad, nullptr), "65535"));
}

} // namespace

int main() {
    need_device();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_of_one_token),
        cmocka_unit_test(steps_of_several_tokens),
        cmocka_unit_test(heads_share_keys),
        cmocka_unit_test(chunks_of_all_lengths),
        cmocka_unit_test(chunks_share_keys),
        cmocka_unit_test(fast_decays),
        cmocka_unit_test(chunks_are_cut_before_decays_overflow),
        cmocka_unit_test(slow_decays),
        cmocka_unit_test(chunked_equals_recurrent),
        cmocka_unit_test(outputs_are_rounded_once),
        cmocka_unit_test(bad_shapes_are_refused),
    };
    return cmocka_run_group_tests_name("delta", tests, nullptr, nullptr);
}
