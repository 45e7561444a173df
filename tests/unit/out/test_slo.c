#include "out/slo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static sl_request_record finished(int64_t ttft_ns, int64_t span_ns, int64_t tokens) {
    return (sl_request_record){.outcome = SL_FINISHED,
                               .arrival_ns = 1000,
                               .first_token_ns = 1000 + ttft_ns,
                               .last_token_ns = 1000 + ttft_ns + span_ns,
                               .generated_tokens = tokens};
}

static void both_limits_are_inclusive(void **state) {
    (void)state;
    const sli_slo slo = {.ttft_ns = 100, .tpot_ns = 10};
    const struct {
        int64_t ttft_ns, span_ns, tokens;
        bool is_met;
    } cases[] = {{100, 100, 11, true}, {101, 100, 11, false}, {100, 101, 11, false},
                 {0, 0, 2, true},      {0, 11, 2, false},     {0, 20, 3, true},
                 {0, 21, 3, false},    {0, 19, 3, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sl_request_record record = finished(cases[i].ttft_ns, cases[i].span_ns, cases[i].tokens);
        assert_int_equal(sli_slo_is_met(&slo, &record), cases[i].is_met);
    }
}

static void a_limit_that_was_not_asked_for_always_holds(void **state) {
    (void)state;
    sl_request_record slow = finished(1000000, 1000000, 2);
    sli_slo slo = {.ttft_ns = SLI_SLO_NONE, .tpot_ns = SLI_SLO_NONE};
    assert_false(sli_slo_is_set(&slo));
    assert_true(sli_slo_is_met(&slo, &slow));
    slo = (sli_slo){.ttft_ns = 2000000, .tpot_ns = SLI_SLO_NONE};
    assert_true(sli_slo_is_set(&slo));
    assert_true(sli_slo_is_met(&slo, &slow));
    slo = (sli_slo){.ttft_ns = SLI_SLO_NONE, .tpot_ns = 10};
    assert_true(sli_slo_is_set(&slo));
    assert_false(sli_slo_is_met(&slo, &slow));
}

static void one_token_has_only_the_first_limit(void **state) {
    (void)state;
    const sli_slo slo = {.ttft_ns = 100, .tpot_ns = 0};
    sl_request_record quick = finished(100, 0, 1);
    sl_request_record late = finished(101, 0, 1);
    assert_true(sli_slo_is_met(&slo, &quick));
    assert_false(sli_slo_is_met(&slo, &late));
}

static void only_finished_requests_meet_it(void **state) {
    (void)state;
    const sli_slo slo = {.ttft_ns = 100, .tpot_ns = 10};
    const sl_outcome others[] = {SL_REJECTED, SL_ABORTED, SL_UNFINISHED};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        sl_request_record record = finished(1, 1, 2);
        assert_true(sli_slo_is_met(&slo, &record));
        record.outcome = others[i];
        assert_false(sli_slo_is_met(&slo, &record));
    }
}

static void huge_limits_do_not_overflow(void **state) {
    (void)state;
    const sli_slo slo = {.ttft_ns = INT64_MAX, .tpot_ns = INT64_MAX / 2};
    sl_request_record record = finished(1, INT64_MAX / 4, 1000000);
    assert_true(sli_slo_is_met(&slo, &record));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_limits_are_inclusive),
        cmocka_unit_test(a_limit_that_was_not_asked_for_always_holds),
        cmocka_unit_test(one_token_has_only_the_first_limit),
        cmocka_unit_test(only_finished_requests_meet_it),
        cmocka_unit_test(huge_limits_do_not_overflow),
    };
    return cmocka_run_group_tests_name("out/slo", tests, NULL, NULL);
}
