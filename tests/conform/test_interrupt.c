/*
 * A run may be stopped at any moment: what happened until then is booked, every request has its one
 * record, and no block is lost. (It stops between two instants, never within one.)
 */
#include "cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { WORLDS = 300, MOMENTS = 40 };

static void assert_whole(const sli_small_world *world, const sli_rehearsal *played) {
    if (played->status != SL_OK) {
        fail_msg("world %llu: %s", (unsigned long long)world->number, played->text);
    }
    assert_string_equal(played->broken, "");
    int64_t arrived = 0;
    for (size_t i = 0; i < played->transition_count; i++) {
        arrived += played->transitions[i].kind == SL_ARRIVE;
    }
    for (int i = 0; i < world->request_count; i++) {
        const sl_request_record *record = &played->records[i];
        assert_true(played->record_count[i] <= 1);
        arrived -= played->record_count[i];
        int64_t stay_ns = 0;
        for (int phase = 0; phase < SL_PHASE_COUNT; phase++) {
            stay_ns += record->phase_ns[phase];
        }
        assert_int_equal(stay_ns, record->end_ns - record->arrival_ns);
    }
    assert_int_equal(arrived, 0);
}

static void stopping_at_any_moment_loses_nothing(void **state) {
    (void)state;
    int64_t stopped = 0;
    for (int i = 0; i < sli_scaled_worlds(WORLDS); i++) {
        const sli_batch_case *it = &sli_batch_cases[i % SLI_CASE_COUNT];
        sli_small_world world;
        _Alignas(max_align_t) unsigned char values[SLI_VALUES_BYTES];
        sli_case_world(it, (uint64_t)i, (sli_layers)(i % SLI_LAYERS_COUNT), &world, values);
        for (size_t moment = 1; moment <= MOMENTS; moment++) {
            sli_manner manner = {.keeps_promises = true, .interrupt_after = moment};
            sli_rehearsal played;
            sli_rehearse(&world, sli_case_policy(it), values, &manner, &played);
            assert_whole(&world, &played);
            for (int j = 0; j < world.request_count; j++) {
                stopped += played.records[j].outcome == SL_UNFINISHED;
            }
            sli_rehearsal_fini(&played);
        }
    }
    assert_true(stopped > sli_scaled_worlds(WORLDS) * MOMENTS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stopping_at_any_moment_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
