/*
 * Fails one allocation after the other: each run ends with SL_ERR_NOMEM or as if nothing had
 * happened, and the address sanitizer sees to it that nothing leaks.
 */
#include "fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The linker sends the calls of sluice here; those of libraries are not touched. */
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static long calls_until_failure = -1; /* negative = never */
static bool has_failed;

static bool fails_now(void) {
    bool is_failing = calls_until_failure == 0;
    if (calls_until_failure >= 0) {
        calls_until_failure--;
    }
    has_failed |= is_failing;
    return is_failing;
}

void *__wrap_calloc(size_t count, size_t size) {
    return fails_now() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size) {
    return fails_now() ? NULL : __real_realloc(memory, size);
}

/* All that the floor does, with a mistake of each kind if the text has one. */
static sl_err do_all(test_bed *bed, const char *path, const char *assignment) {
    everything values = {0};
    SL_TRY(sli_tree_read_file(&bed->arena, path, &bed->diag, &bed->root));
    sl_err err = sli_tree_set(&bed->arena, bed->root, assignment, &bed->diag);
    if (err == SL_ERR_NOMEM) {
        return err;
    }
    return sli_schema_resolve(&bed->arena, &everything_section, NULL, bed->root, &bed->diag,
                              &values);
}

static void fail_each_allocation(const char *text, const char *assignment, sl_err expected) {
    char path[] = "/tmp/sluice-config-XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    FILE *file = fdopen(descriptor, "w");
    fputs(text, file);
    fclose(file);
    long failures = 0;
    do {
        test_bed bed = {0};
        calls_until_failure = failures;
        has_failed = false;
        sl_err err = do_all(&bed, path, assignment);
        calls_until_failure = -1;
        assert_int_equal(err, has_failed ? SL_ERR_NOMEM : expected);
        test_bed_fini(&bed);
        failures++;
    } while (has_failed);
    remove(path);
    assert_true(failures > 2);
}

static void answers_nomem_when_a_good_file_is_read(void **state) {
    (void)state;
    fail_each_allocation(fullest_text, "server={max_seqs: 8}", SL_OK);
}

static void answers_nomem_when_mistakes_are_reported(void **state) {
    (void)state;
    fail_each_allocation("limit: 25\nlimit: 3\nserver: {max_seq: 1, policy: fifo}\n"
                         "context: nativ\nprompt: {fixed: 0 tokens, lognormal: 3}\n"
                         "scheduler: vlm\nbandwidth: 1\n",
                         "rate.x=1", SL_ERR_CONFIG);
}

static void answers_nomem_when_only_the_schema_complains(void **state) {
    (void)state;
    fail_each_allocation("limit: 25\n", "seed=1", SL_ERR_CONFIG);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_nomem_when_a_good_file_is_read),
        cmocka_unit_test(answers_nomem_when_mistakes_are_reported),
        cmocka_unit_test(answers_nomem_when_only_the_schema_complains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
