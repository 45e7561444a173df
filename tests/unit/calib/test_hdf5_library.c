/* The library that is loaded when a file needs it: what it is without, and that nothing else loads
 * it. */
#include "calib/hdf5_library.h"
#include "calib/measurements.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void what_is_missing_is_named(void **state) {
    (void)state;
    sli_hdf5 library;
    const char *why = sli_hdf5_load("libhdf5_absent.so.1", &library);
    assert_non_null(why);
    assert_non_null(strstr(why, "libhdf5_absent.so.1"));
    why = sli_hdf5_load("libm.so.6", &library);
    assert_non_null(why);
    assert_non_null(strstr(why, "undefined symbol: H5Aclose"));
    why = sli_hdf5_load(WITHOUT_ADDRESS, &library);
    assert_non_null(why);
    assert_string_equal(why, "a symbol of it has no address");
}

static sl_err read_path(const char *path) {
    sli_arena arena = {0};
    sli_diag diag = {0};
    sli_measurements table;
    sl_err err = sli_measurements_read(&arena, path, &diag, &table);
    sli_diag_fini(&diag);
    sli_arena_fini(&arena);
    return err;
}

static bool is_loaded(void) {
    return dlopen(SLI_HDF5_NAME, RTLD_NOW | RTLD_NOLOAD) != NULL;
}

static void only_its_files_load_it(void **state) {
    (void)state;
    static const char path[] = "test_hdf5_library.h5";
    assert_false(is_loaded());
    assert_false(sli_is_measurements("absent.yaml"));
    assert_int_equal(read_path("absent.csv"), SL_ERR_CONFIG);
    assert_int_equal(read_path("absent.h5"), SL_ERR_CONFIG);
    assert_false(is_loaded());
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs("\x89HDF\r\n\x1a\n", file);
    fclose(file);
    assert_int_equal(read_path(path), SL_ERR_CONFIG); /* the signature alone */
    remove(path);
    assert_true(is_loaded());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_missing_is_named),
        cmocka_unit_test(only_its_files_load_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
