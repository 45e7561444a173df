/* Arenas and growing arrays: nothing overlaps, all is aligned, and absurd sizes are refused. */
#include "base/arena.h"
#include "base/grow.h"

#include <setjmp.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Sizes around the end of a chunk and of many chunks; each piece is filled and must stay so. */
static void pieces_are_zeroed_aligned_and_apart(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 7, 16, 100, 5000, 16384, 16385, 40000, 3, 16000, 400};
    enum { SIZE_COUNT = sizeof sizes / sizeof sizes[0], ROUNDS = 5 };
    sli_arena arena = {0};
    unsigned char *pieces[ROUNDS * SIZE_COUNT];
    for (size_t i = 0; i < ROUNDS * SIZE_COUNT; i++) {
        size_t size = sizes[i % SIZE_COUNT];
        pieces[i] = sli_arena_alloc(&arena, size);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % alignof(max_align_t), 0);
        for (size_t k = 0; k < size; k++) {
            assert_int_equal(pieces[i][k], 0);
            pieces[i][k] = (unsigned char)(i + 1);
        }
    }
    for (size_t i = 0; i < ROUNDS * SIZE_COUNT; i++) {
        for (size_t k = 0; k < sizes[i % SIZE_COUNT]; k++) {
            assert_int_equal(pieces[i][k], i + 1);
        }
    }
    sli_arena_fini(&arena);
    assert_null(arena.chunks);
}

static void copies_and_prints_texts(void **state) {
    (void)state;
    sli_arena arena = {0};
    assert_string_equal(sli_arena_copy(&arena, "truncated", 5), "trunc");
    assert_string_equal(sli_arena_copy(&arena, NULL, 0), "");
    assert_string_equal(sli_arena_strdup(&arena, "whole"), "whole");
    assert_string_equal(sli_arena_printf(&arena, "%d of %s", 3, "seven"), "3 of seven");
    char *longer = sli_arena_printf(&arena, "%20000d", 1);
    assert_int_equal(strlen(longer), 20000);
    sli_arena_fini(&arena);
}

static void refuses_sizes_that_overflow(void **state) {
    (void)state;
    sli_arena arena = {0};
    assert_null(sli_arena_alloc(&arena, SIZE_MAX));
    assert_null(sli_arena_array(&arena, SIZE_MAX / 8 + 2, 8));
    assert_non_null(sli_arena_array(&arena, 0, 8));
    sli_arena_fini(&arena);
}

static void growing_keeps_what_was_there(void **state) {
    (void)state;
    int64_t *items = NULL;
    size_t capacity = 0;
    size_t growth_count = 0;
    for (size_t count = 0; count < 10000; count++) {
        size_t before = capacity;
        assert_int_equal(sli_grow(&items, &capacity, count + 1, sizeof *items), SL_OK);
        assert_true(capacity > count);
        growth_count += capacity != before;
        items[count] = (int64_t)count;
    }
    for (size_t i = 0; i < 10000; i++) {
        assert_int_equal(items[i], i);
    }
    assert_true(growth_count <= 14); /* log2 10000: doubling, not creeping */
    free(items);
}

static void failed_growth_changes_nothing(void **state) {
    (void)state;
    int64_t *items = NULL;
    size_t capacity = 0;
    assert_int_equal(sli_grow(&items, &capacity, 3, sizeof *items), SL_OK);
    int64_t *items_before = items;
    size_t capacity_before = capacity;
    assert_int_equal(sli_grow(&items, &capacity, SIZE_MAX / 8, sizeof *items), SL_ERR_NOMEM);
    assert_int_equal(sli_grow(&items, &capacity, SIZE_MAX, sizeof *items), SL_ERR_NOMEM);
    assert_ptr_equal(items, items_before);
    assert_int_equal(capacity, capacity_before);
    free(items);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_zeroed_aligned_and_apart),
        cmocka_unit_test(copies_and_prints_texts),
        cmocka_unit_test(refuses_sizes_that_overflow),
        cmocka_unit_test(growing_keeps_what_was_there),
        cmocka_unit_test(failed_growth_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
