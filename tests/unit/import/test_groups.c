/*
 * Runs as groups that come again: they must stand for the same runs, in as few rows as trying out
 * everything finds.
 */
#include "import/groups.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { RUNS_MAX = 200 };

typedef struct world {
    sli_arena arena;
    sli_import_run rows[RUNS_MAX];
    sli_import_runs runs;
    sli_import_groups groups;
} world;

static int set_up(void **state) {
    static world fresh;
    fresh = (world){.runs = {.rows = fresh.rows}};
    *state = &fresh;
    return 0;
}

static int tear_down(void **state) {
    world *w = *state;
    sli_arena_fini(&w->arena);
    return 0;
}

/* A run of one layer for each letter, which names its mixer. */
static void group(world *w, const char *letters) {
    static const char *const names[] = {"a", "b", "c", "d"};
    w->runs.count = strlen(letters);
    assert_true(w->runs.count <= RUNS_MAX);
    for (size_t i = 0; letters[i] != '\0'; i++) {
        w->rows[i] = (sli_import_run){.count = 1, .mixer = names[letters[i] - 'a'], .ffn = "x"};
    }
    assert_int_equal(sli_import_group_runs(&w->arena, &w->runs, &w->groups), SL_OK);
}

/* `a 2(bc)`: what the groups say of the letters. */
static void becomes(world *w, const char *letters, const char *wanted) {
    char text[512] = "";
    group(w, letters);
    for (size_t i = 0; i < w->groups.count; i++) {
        sli_import_group g = w->groups.entries[i];
        size_t length = strlen(text);
        const char *space = i > 0 ? " " : "";
        if (g.times > 1) {
            snprintf(text + length, sizeof text - length, "%s%zu(%.*s)", space, g.times,
                     (int)g.rows, letters);
        } else {
            snprintf(text + length, sizeof text - length, "%s%c", space, letters[0]);
        }
        letters += g.rows * g.times;
    }
    assert_string_equal(text, wanted);
    assert_int_equal(*letters, '\0');
}

static void groups_that_come_again_are_repeats(void **state) {
    world *w = *state;
    becomes(w, "", "");
    becomes(w, "a", "a");
    becomes(w, "ab", "a b");
    becomes(w, "abab", "2(ab)");
    becomes(w, "ababa", "2(ab) a");
    becomes(w, "cababab", "c 3(ab)");
    becomes(w, "abcabcabd", "2(abc) a b d");
    becomes(w, "abababcbcbc", "3(ab) 2(cb) c");
    becomes(w, "abacabac", "2(abac)");
    becomes(w, "abababab", "4(ab)"); /* and not 2(abab) */
    becomes(w, "ababacababac", "2(ababac)");
    becomes(w, "abababcabababc", "3(ab) c 3(ab) c"); /* as many rows as 2(abababc) */
}

/* A run is equal to another one in all that it says. */
static void runs_differ_in_count_and_parts(void **state) {
    world *w = *state;
    const sli_import_run others[] = {{2, "a", "x"}, {1, "c", "x"}, {1, "a", "y"}};
    for (size_t i = 0; i < 3; i++) {
        group(w, "abab");
        w->rows[2] = others[i];
        assert_int_equal(sli_import_group_runs(&w->arena, &w->runs, &w->groups), SL_OK);
        assert_int_equal(w->groups.count, 4);
    }
}

/* Twice the same runs, of which no two are equal. */
static void a_period_has_64_runs_at_most(void **state) {
    world *w = *state;
    for (size_t period = 64; period <= 65; period++) {
        w->runs.count = 2 * period;
        for (size_t i = 0; i < w->runs.count; i++) {
            w->rows[i] = (sli_import_run){
                .count = (int64_t)(i % period + 1), .mixer = "a", .ffn = "x"};
        }
        assert_int_equal(sli_import_group_runs(&w->arena, &w->runs, &w->groups), SL_OK);
        assert_int_equal(w->groups.count, period == 64 ? 1 : w->runs.count);
    }
}

static size_t equal_runs(const char *a, const char *b) {
    size_t length = 0;
    while (b[length] != '\0' && a[length] == b[length]) {
        length++;
    }
    return length;
}

/* Rows, and one a repeat, by trying out everything. */
static size_t fewest_rows(const char *letters) {
    size_t length = strlen(letters);
    if (length == 0) {
        return 0;
    }
    size_t best = 1 + fewest_rows(letters + 1);
    for (size_t period = 2; 2 * period <= length; period++) {
        size_t times = equal_runs(letters, letters + period) / period + 1;
        if (times > 1) {
            size_t rows = period + 1 + fewest_rows(letters + period * times);
            best = rows < best ? rows : best;
        }
    }
    return best;
}

static void is_sound(world *w, const char *letters) {
    size_t at = 0;
    size_t rows = 0;
    group(w, letters);
    for (size_t i = 0; i < w->groups.count; i++) {
        sli_import_group g = w->groups.entries[i];
        for (size_t k = g.rows; k < g.rows * g.times; k++) {
            assert_int_equal(letters[at + k], letters[at + k - g.rows]);
        }
        at += g.rows * g.times;
        rows += g.rows + (g.times > 1);
    }
    assert_int_equal(at, strlen(letters));
    assert_int_equal(rows, fewest_rows(letters));
}

/* All texts of three letters in which neighbours differ. */
static void no_way_needs_fewer_rows(void **state) {
    enum { LENGTH = 12 };
    for (int code = 0; code < 1 << LENGTH; code++) {
        char letters[LENGTH + 1] = {'a'};
        for (int i = 1; i < LENGTH; i++) {
            letters[i] = (char)('a' + (letters[i - 1] - 'a' + 1 + (code >> i & 1)) % 3);
        }
        is_sound(*state, letters + (code & 1)); /* of either length */
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(groups_that_come_again_are_repeats, set_up, tear_down),
        cmocka_unit_test_setup_teardown(runs_differ_in_count_and_parts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_period_has_64_runs_at_most, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_way_needs_fewer_rows, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
