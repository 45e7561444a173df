/* The map against a plain list of pairs. */
#include "base/map.h"
#include "base/siphash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Keys that repeat: about half of the draws are new. */
static uint64_t key_at(uint64_t i) {
    return sli_siphash_bytes(1, 2, &i, sizeof i) % 3000;
}

static void agrees_with_a_list(void **state) {
    (void)state;
    enum { PUTS = 4000 };
    static sli_map_entry list[PUTS];
    size_t count = 0;
    sli_map map = {0};
    for (uint64_t i = 0; i < PUTS; i++) {
        uint64_t key = key_at(i);
        size_t at = 0;
        while (at < count && list[at].key != key) {
            at++;
        }
        assert_int_equal(sli_map_find(&map, key) != NULL, at < count);
        uint64_t *slot = NULL;
        bool is_new = false;
        assert_int_equal(sli_map_put(&map, key, i, &slot, &is_new), SL_OK);
        assert_int_equal(is_new, at == count);
        if (is_new) {
            list[count++] = (sli_map_entry){key, i};
        }
        assert_int_equal(*slot, list[at].value);
        assert_int_equal(map.count, count);
    }
    assert_true(count > 1000 && count < PUTS);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(map.entries[i].key, list[i].key); /* order of insertion */
        assert_int_equal(map.entries[i].value, list[i].value);
    }
    sli_map_fini(&map);
}

/* Keys that agree in all low bits, or in all high bits, must not pile up in one place. */
static void holds_keys_that_look_alike(void **state) {
    (void)state;
    sli_map map = {0};
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t *slot;
        bool is_new;
        assert_int_equal(sli_map_put(&map, i << 40, i, &slot, &is_new), SL_OK);
        assert_true(is_new);
    }
    for (uint64_t i = 0; i < 20000; i++) {
        assert_int_equal(*sli_map_find(&map, i << 40), i);
    }
    assert_null(sli_map_find(&map, 1));
    sli_map_fini(&map);
}

static void extreme_keys_are_keys(void **state) {
    (void)state;
    sli_map map = {0};
    uint64_t *slot;
    bool is_new;
    assert_null(sli_map_find(&map, 0));
    assert_int_equal(sli_map_put(&map, 0, 7, &slot, &is_new), SL_OK);
    assert_int_equal(sli_map_put(&map, UINT64_MAX, 8, &slot, &is_new), SL_OK);
    assert_int_equal(*sli_map_find(&map, 0), 7);
    assert_int_equal(*sli_map_find(&map, UINT64_MAX), 8);
    assert_int_equal(sli_map_put(&map, 0, 10, &slot, &is_new), SL_OK);
    assert_false(is_new);
    assert_int_equal(*slot, 7);
    *sli_map_find(&map, 0) = 9;
    assert_int_equal(map.entries[0].value, 9);
    sli_map_fini(&map);
    assert_int_equal(map.count, 0);
    assert_null(sli_map_find(&map, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_a_list),
        cmocka_unit_test(holds_keys_that_look_alike),
        cmocka_unit_test(extreme_keys_are_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
