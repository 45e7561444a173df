#include "out/file.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* Each test stands in an empty folder of its own and uses relative names. */
static char folder[64];

static int enter_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/sluice_file_XXXXXX");
    return mkdtemp(folder) == NULL ? -1 : chdir(folder);
}

static int leave_folder(void **state) {
    (void)state;
    char command[256];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return chdir("/") != 0 ? -1 : system(command);
}

static void put_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static bool is_there(const char *path) {
    return access(path, F_OK) == 0;
}

static void expect_text(const char *path, const char *text) {
    char read[64] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(read, sizeof read, file));
    fclose(file);
    assert_string_equal(read, text);
}

static void expect_said(const sli_diag *diag, const char *word) {
    assert_int_equal(diag->error_count, 1);
    assert_string_equal(diag->first->path, "a.key");
    if (strstr(diag->first->message, word) == NULL) {
        fail_msg("'%s' is not in: %s", word, diag->first->message);
    }
}

/* Opening must fail with one error that says `word`. */
static void expect_refusal(const char *path, bool force, const char *word) {
    sli_diag diag = {0};
    sli_file file = {0};
    assert_int_equal(sli_file_open(&file, path, "a.key", force, &diag), SL_ERR_IO);
    expect_said(&diag, word);
    assert_null(file.stream);
    sli_diag_fini(&diag);
}

static void open_file(sli_file *file, const char *path, bool force, sli_diag *diag) {
    assert_int_equal(sli_file_open(file, path, "a.key", force, diag), SL_OK);
    fputs("new", file->stream);
}

static void write_and_commit(const char *path, bool force) {
    sli_diag diag = {0};
    sli_file file;
    open_file(&file, path, force, &diag);
    assert_int_equal(sli_file_finish(&file, 0, &diag), SL_OK);
    assert_int_equal(sli_file_commit(&file, &diag), SL_OK);
    assert_null(diag.first);
    sli_file_fini(&file);
    expect_text(path, "new");
}

static void appears_whole_at_the_commit(void **state) {
    (void)state;
    sli_diag diag = {0};
    sli_file file;
    open_file(&file, "trace", false, &diag);
    assert_int_equal(sli_file_finish(&file, 0, &diag), SL_OK);
    expect_text("trace.part", "new");
    assert_false(is_there("trace"));
    assert_int_equal(sli_file_commit(&file, &diag), SL_OK);
    sli_file_fini(&file);
    expect_text("trace", "new");
    assert_false(is_there("trace.part"));
}

static void vanishes_when_it_is_not_committed(void **state) {
    (void)state;
    sli_diag diag = {0};
    sli_file file;
    put_file("trace", "old");
    open_file(&file, "trace", true, &diag);
    sli_file_fini(&file);
    assert_false(is_there("trace.part"));
    expect_text("trace", "old");
}

static void a_file_is_replaced_only_by_force(void **state) {
    (void)state;
    put_file("trace", "old");
    expect_refusal("trace", false, "--force");
    expect_text("trace", "old");
    write_and_commit("trace", true);
}

static void what_is_no_file_is_never_replaced(void **state) {
    (void)state;
    assert_int_equal(mkdir("folder", 0777), 0);
    expect_refusal("folder", true, "is a directory");
    assert_int_equal(mkfifo("pipe", 0666), 0);
    expect_refusal("pipe", true, "not a regular file");
    expect_refusal("/dev/null", true, "not a regular file");
    assert_int_equal(symlink("absent", "astray"), 0);
    expect_refusal("astray", true, "leads nowhere");
    expect_refusal("absent/trace", true, "No such file");
}

static void a_link_stands_for_its_file(void **state) {
    (void)state;
    struct stat status;
    put_file("trace", "old");
    assert_int_equal(symlink("trace", "link"), 0);
    expect_refusal("link", false, "--force");
    write_and_commit("link", true);
    expect_text("trace", "new");
    assert_int_equal(lstat("link", &status), 0);
    assert_true(S_ISLNK(status.st_mode));
}

static void a_part_of_others_is_never_touched(void **state) {
    (void)state;
    put_file("trace.part", "dear");
    expect_refusal("trace", true, "in the way");
    expect_text("trace.part", "dear");
}

static void what_appeared_meanwhile_is_kept(void **state) {
    (void)state;
    sli_diag diag = {0};
    sli_file file;
    open_file(&file, "trace", false, &diag);
    assert_int_equal(sli_file_finish(&file, 0, &diag), SL_OK);
    put_file("trace", "someone else was faster");
    assert_int_equal(sli_file_commit(&file, &diag), SL_ERR_IO);
    expect_said(&diag, "cannot rename trace.part to trace");
    sli_file_fini(&file);
    expect_text("trace", "someone else was faster");
    expect_text("trace.part", "new");
    sli_diag_fini(&diag);
}

static void a_write_that_failed_earlier_is_reported(void **state) {
    (void)state;
    sli_diag diag = {0};
    sli_file file;
    open_file(&file, "trace", false, &diag);
    assert_int_equal(sli_file_finish(&file, ENOSPC, &diag), SL_ERR_IO);
    expect_said(&diag, "No space left");
    sli_file_fini(&file);
    assert_false(is_there("trace.part"));
    sli_diag_fini(&diag);
}

static void files_are_the_same_by_any_name(void **state) {
    (void)state;
    put_file("a", "same");
    put_file("b", "same");
    assert_int_equal(link("a", "hard"), 0);
    assert_int_equal(symlink("a", "soft"), 0);
    assert_true(sli_is_same_file("a", "./a"));
    assert_true(sli_is_same_file("hard", "soft"));
    assert_false(sli_is_same_file("a", "b"));
    assert_false(sli_is_same_file("absent", "absent"));
}

int main(void) {
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(appears_whole_at_the_commit),
        IN_FOLDER(vanishes_when_it_is_not_committed),
        IN_FOLDER(a_file_is_replaced_only_by_force),
        IN_FOLDER(what_is_no_file_is_never_replaced),
        IN_FOLDER(a_link_stands_for_its_file),
        IN_FOLDER(a_part_of_others_is_never_touched),
        IN_FOLDER(what_appeared_meanwhile_is_kept),
        IN_FOLDER(a_write_that_failed_earlier_is_reported),
        IN_FOLDER(files_are_the_same_by_any_name),
    };
    return cmocka_run_group_tests_name("out/file", tests, NULL, NULL);
}
