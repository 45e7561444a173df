#include "out/digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const sl_transition first = {.at_ns = 1000,
                                    .kind = SL_ARRIVE,
                                    .replica = SL_NO_REPLICA,
                                    .request = SL_REQUEST_ID(3, 7),
                                    .tokens = 512};

/* Every byte of every field in use, negative numbers too. */
static const sl_transition second = {.at_ns = -1,
                                     .kind = SL_ABORT,
                                     .replica = 2,
                                     .request = UINT64_MAX,
                                     .tokens = (INT64_C(1) << 40) + 3,
                                     .blocks = -9};

/*
 * The expected values are those of OpenSSL 3 on the same bytes, packed by Python's struct
 * ("<qIIQqq"), its output read as a little-endian number:
 * openssl mac -macopt hexkey:736c7569636520646967657374207631 -macopt size:8 -in FILE SIPHASH
 */
static void agrees_with_another_implementation(void **state) {
    (void)state;
    sli_digest digest;
    sli_digest_init(&digest);
    sl_probe probe = sli_digest_probe(&digest);
    assert_int_equal(sli_digest_value(&digest), UINT64_C(0x6b8c7c9485869b51));
    probe.ops->transition(probe.self, &first);
    assert_int_equal(sli_digest_value(&digest), UINT64_C(0x9826a57519a4c6b6));
    probe.ops->transition(probe.self, &second);
    assert_int_equal(sli_digest_value(&digest), UINT64_C(0xdb707e1800e4e96f));
}

static uint64_t digest_of(const sl_transition *transition) {
    sli_digest digest;
    sli_digest_init(&digest);
    sli_digest_add(&digest, transition);
    return sli_digest_value(&digest);
}

static void every_field_counts(void **state) {
    (void)state;
    sl_transition changed[6] = {first, first, first, first, first, first};
    changed[0].at_ns++;
    changed[1].kind++;
    changed[2].replica--;
    changed[3].request++;
    changed[4].tokens++;
    changed[5].blocks++;
    for (size_t i = 0; i < 6; i++) {
        assert_int_not_equal(digest_of(&changed[i]), digest_of(&first));
    }
}

static void steps_gaps_and_records_are_not_part_of_it(void **state) {
    (void)state;
    sli_digest digest;
    sli_digest_init(&digest);
    sl_probe probe = sli_digest_probe(&digest);
    assert_null(probe.ops->step);
    assert_null(probe.ops->gap);
    assert_null(probe.ops->terminal);
}

static void prints_sixteen_digits(void **state) {
    (void)state;
    char text[SLI_DIGEST_TEXT_SIZE];
    sli_digest_format(UINT64_C(0x00ff00000000000a), text);
    assert_string_equal(text, "00ff00000000000a");
    sli_digest_format(UINT64_C(0x9f3ac41d22b07e15), text);
    assert_string_equal(text, "9f3ac41d22b07e15");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_another_implementation),
        cmocka_unit_test(every_field_counts),
        cmocka_unit_test(steps_gaps_and_records_are_not_part_of_it),
        cmocka_unit_test(prints_sixteen_digits),
    };
    return cmocka_run_group_tests_name("out/digest", tests, NULL, NULL);
}
