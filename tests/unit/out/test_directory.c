#include "out/directory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Each test stands in an empty folder of its own and uses relative names. */
static char folder[64];

static int enter_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/sluice_directory_XXXXXX");
    return mkdtemp(folder) == NULL ? -1 : chdir(folder);
}

static int leave_folder(void **state) {
    (void)state;
    char command[256];
    snprintf(command, sizeof command, "chmod -R u+w %s; rm -r %s", folder, folder);
    return chdir("/") != 0 ? -1 : system(command);
}

static void put_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void put_result(const char *path, const char *text) {
    char file[64];
    assert_int_equal(mkdir(path, 0777), 0);
    snprintf(file, sizeof file, "%s/run.sqlite", path);
    put_file(file, text);
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

static sl_err name_and_open(sli_directory *directory, const char *path, bool force,
                            sli_diag *diag) {
    *directory = (sli_directory){0};
    SL_TRY(sli_directory_init(directory, path, diag));
    return sli_directory_open(directory, force, diag);
}

/* Opening must fail with one error that says `word`, and change nothing. */
static void expect_refusal(const char *path, bool force, const char *word) {
    sli_diag diag = {0};
    sli_directory directory;
    assert_int_equal(name_and_open(&directory, path, force, &diag), SL_ERR_IO);
    assert_int_equal(diag.error_count, 1);
    if (strstr(diag.first->message, word) == NULL) {
        fail_msg("'%s' is not in: %s", word, diag.first->message);
    }
    sli_directory_fini(&directory);
    sli_diag_fini(&diag);
}

static void open_directory(sli_directory *directory, const char *path, bool force) {
    sli_diag diag = {0};
    sl_err err = name_and_open(directory, path, force, &diag);
    if (err != SL_OK && diag.first != NULL) {
        fail_msg("%s", diag.first->message);
    }
    assert_int_equal(err, SL_OK);
    sli_diag_fini(&diag);
}

static void write_and_commit(const char *path, bool force, const char *text) {
    sli_diag diag = {0};
    sli_directory directory;
    open_directory(&directory, path, force);
    assert_int_equal(sli_directory_write(&directory, "run.sqlite", text, &diag), SL_OK);
    assert_int_equal(sli_directory_write(&directory, SLI_DIRECTORY_SCENARIO, "a: 1", &diag), SL_OK);
    assert_int_equal(sli_directory_commit(&directory, &diag), SL_OK);
    assert_null(diag.first);
    sli_directory_fini(&directory);
    sli_diag_fini(&diag);
}

static void appears_whole_at_the_commit(void **state) {
    (void)state;
    sli_diag diag = {0};
    sli_directory directory;
    open_directory(&directory, "out/", false);
    assert_true(is_there("out.part"));
    assert_false(is_there("out"));
    char *file = NULL;
    assert_int_equal(sli_directory_file(&directory, "run.sqlite", &file), SL_OK);
    assert_string_equal(file, "out.part/run.sqlite");
    free(file);
    assert_int_equal(sli_directory_write(&directory, "run.sqlite", "new", &diag), SL_OK);
    assert_int_equal(sli_directory_commit(&directory, &diag), SL_OK);
    sli_directory_fini(&directory);
    assert_false(is_there("out.part"));
    expect_text("out/run.sqlite", "new");
    sli_diag_fini(&diag);
}

static void vanishes_when_it_is_not_committed(void **state) {
    (void)state;
    sli_diag diag = {0};
    sli_directory directory;
    open_directory(&directory, "out", false);
    assert_int_equal(sli_directory_write(&directory, "run.sqlite", "half", &diag), SL_OK);
    sli_directory_fini(&directory);
    assert_false(is_there("out.part"));
    assert_false(is_there("out"));
}

static void an_earlier_result_is_replaced_only_by_force(void **state) {
    (void)state;
    put_result("out", "old");
    expect_refusal("out", false, "--force");
    expect_text("out/run.sqlite", "old");
    write_and_commit("out", true, "new");
    expect_text("out/run.sqlite", "new");
    expect_text("out/scenario.resolved.yaml", "a: 1");
    assert_false(is_there("out.old"));
    assert_false(is_there("out.part"));
}

static void an_earlier_result_survives_a_failed_run(void **state) {
    (void)state;
    put_result("out", "old");
    sli_directory directory;
    open_directory(&directory, "out", true);
    expect_text("out/run.sqlite", "old");
    sli_directory_fini(&directory);
    expect_text("out/run.sqlite", "old");
}

static void an_empty_directory_is_used(void **state) {
    (void)state;
    assert_int_equal(mkdir("out", 0777), 0);
    write_and_commit("out", false, "new");
    expect_text("out/run.sqlite", "new");
}

static void what_sluice_did_not_write_is_never_touched(void **state) {
    (void)state;
    assert_int_equal(mkdir("home", 0777), 0);
    put_file("home/thesis.tex", "dear");
    expect_refusal("home", true, "did not write");
    expect_text("home/thesis.tex", "dear");
    put_result("mixed", "old"); /* a result with somebody's notes in it */
    put_file("mixed/notes.txt", "dear");
    expect_refusal("mixed", true, "did not write");
    expect_text("mixed/run.sqlite", "old");
    assert_int_equal(mkdir("copied", 0777), 0); /* of our name, but no result */
    put_file("copied/scenario.resolved.yaml", "dear");
    expect_refusal("copied", true, "did not write");
    expect_text("copied/scenario.resolved.yaml", "dear");
    assert_int_equal(mkdir("out.part", 0777), 0);
    put_file("out.part/notes.txt", "dear");
    expect_refusal("out", true, "in the way");
    expect_text("out.part/notes.txt", "dear");
    put_result("kept.old", "older");
    expect_refusal("kept", true, "in the way");
    expect_text("kept.old/run.sqlite", "older");
}

static void a_file_is_not_a_directory(void **state) {
    (void)state;
    put_file("file", "dear");
    expect_refusal("file", true, "not a directory");
    assert_int_equal(symlink("file", "link"), 0);
    expect_refusal("link", true, "not a directory");
    expect_text("file", "dear");
}

static void a_link_stands_for_its_directory(void **state) {
    (void)state;
    assert_int_equal(mkdir("disk", 0777), 0);
    put_result("disk/result", "old");
    assert_int_equal(symlink("disk/result", "link"), 0);
    expect_refusal("link", false, "--force");
    write_and_commit("link/", true, "new");
    expect_text("disk/result/run.sqlite", "new");
    expect_text("link/run.sqlite", "new");
    assert_false(is_there("link.part"));
    assert_int_equal(symlink("disk/absent", "astray"), 0);
    expect_refusal("astray", true, "leads nowhere");
}

static void a_second_run_is_refused_while_the_first_writes(void **state) {
    (void)state;
    sli_diag diag = {0};
    sli_directory first;
    open_directory(&first, "out", false);
    assert_int_equal(sli_directory_write(&first, "run.sqlite", "first", &diag), SL_OK);
    expect_refusal("out", false, "another run is writing there");
    expect_refusal("./out", true, "another run is writing there");
    expect_text("out.part/run.sqlite", "first");
    assert_int_equal(sli_directory_commit(&first, &diag), SL_OK);
    sli_directory_fini(&first);
    expect_text("out/run.sqlite", "first");
    write_and_commit("out", true, "second");
    sli_diag_fini(&diag);
}

static void a_run_that_dies_leaves_no_lock(void **state) {
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        sli_directory directory;
        open_directory(&directory, "out", false);
        put_file("out.part/run.sqlite", "half");
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    expect_text("out.part/run.sqlite", "half");
    write_and_commit("out", false, "new");
    expect_text("out/run.sqlite", "new");
}

static bool covers(const char *path, const char *inner) {
    sli_diag diag = {0};
    sli_directory directory;
    bool is_covered = false;
    assert_int_equal(sli_directory_init(&directory, path, &diag), SL_OK);
    assert_int_equal(sli_directory_covers(&directory, inner, &is_covered), SL_OK);
    sli_directory_fini(&directory);
    assert_false(is_there("out.part")); /* naming makes nothing */
    return is_covered;
}

static void knows_what_a_commit_replaces(void **state) {
    (void)state;
    assert_true(covers("out", "out"));
    assert_true(covers("out/", "out/arrivals.jsonl"));
    assert_true(covers("out", "out/deep/down.jsonl"));
    assert_true(covers("out", "out.part/arrivals.jsonl"));
    assert_true(covers("out", "./out.old"));
    assert_true(covers("./out", "out/arrivals.jsonl"));
    assert_false(covers("out", "out.jsonl"));
    assert_false(covers("out", "other/out"));
    assert_false(covers("a/out", "a/arrivals.jsonl"));
    put_result("out", "old"); /* what is there is known by any name */
    char absolute[128];
    snprintf(absolute, sizeof absolute, "%s/out/arrivals.jsonl", folder);
    assert_int_equal(symlink("out", "link"), 0);
    assert_true(covers("out", absolute));
    assert_true(covers("out", "./out/../out/arrivals.jsonl"));
    assert_true(covers("out", "link/arrivals.jsonl"));
    assert_true(covers("link", "out/arrivals.jsonl"));
    assert_int_equal(chdir("out"), 0);
    assert_true(covers("../out", "arrivals.jsonl"));
    assert_false(covers("../out", "../arrivals.jsonl"));
}

static void the_rest_of_a_killed_run_is_cleared(void **state) {
    (void)state;
    sli_directory directory;
    put_result("out.part", "half");
    open_directory(&directory, "out", false);
    assert_true(is_there("out.part"));
    assert_false(is_there("out.part/run.sqlite"));
    sli_directory_fini(&directory);
    assert_false(is_there("out.part"));
}

static void folders_above_are_made(void **state) {
    (void)state;
    write_and_commit("a/b/out", false, "new");
    expect_text("a/b/out/run.sqlite", "new");
}

static void places_that_cannot_be_written_are_named(void **state) {
    (void)state;
    put_file("file", "dear");
    expect_refusal("file/out", false, "file/out");
    expect_refusal("", false, "cannot be");
    expect_refusal(".", true, "cannot be");
    expect_refusal("a/..", true, "cannot be");
    expect_refusal("/", true, "cannot be");
    if (geteuid() != 0) { /* root writes anywhere */
        assert_int_equal(mkdir("locked", 0555), 0);
        expect_refusal("locked/out", false, "Permission denied");
    }
    expect_refusal("/proc/sluice-out", false, "cannot create");
}

static void a_failed_commit_keeps_what_was_written(void **state) {
    (void)state;
    sli_diag diag = {0};
    sli_directory directory;
    open_directory(&directory, "out", false);
    assert_int_equal(sli_directory_write(&directory, "run.sqlite", "new", &diag), SL_OK);
    put_result("out", "someone else was faster");
    assert_int_equal(sli_directory_commit(&directory, &diag), SL_ERR_IO);
    assert_int_equal(diag.error_count, 1);
    sli_directory_fini(&directory);
    expect_text("out.part/run.sqlite", "new");
    expect_text("out/run.sqlite", "someone else was faster");
    write_and_commit("out", true, "newer"); /* the lock is gone */
    sli_diag_fini(&diag);
}

static void a_failed_write_is_reported(void **state) {
    (void)state;
    sli_diag diag = {0};
    sli_directory directory;
    open_directory(&directory, "out", false);
    assert_int_equal(sli_directory_write(&directory, "no/such", "x", &diag), SL_ERR_IO);
    assert_non_null(strstr(diag.first->message, "cannot write out.part/no/such"));
    assert_int_equal(symlink("/dev/full", "out.part/full"), 0);
    assert_int_equal(sli_directory_write(&directory, "full", "x", &diag), SL_ERR_IO);
    assert_non_null(strstr(diag.last->message, "No space left"));
    sli_directory_fini(&directory);
    sli_diag_fini(&diag);
}

int main(void) {
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(appears_whole_at_the_commit),
        IN_FOLDER(vanishes_when_it_is_not_committed),
        IN_FOLDER(an_earlier_result_is_replaced_only_by_force),
        IN_FOLDER(an_earlier_result_survives_a_failed_run),
        IN_FOLDER(an_empty_directory_is_used),
        IN_FOLDER(what_sluice_did_not_write_is_never_touched),
        IN_FOLDER(a_file_is_not_a_directory),
        IN_FOLDER(a_link_stands_for_its_directory),
        IN_FOLDER(a_second_run_is_refused_while_the_first_writes),
        IN_FOLDER(a_run_that_dies_leaves_no_lock),
        IN_FOLDER(knows_what_a_commit_replaces),
        IN_FOLDER(the_rest_of_a_killed_run_is_cleared),
        IN_FOLDER(folders_above_are_made),
        IN_FOLDER(places_that_cannot_be_written_are_named),
        IN_FOLDER(a_failed_commit_keeps_what_was_written),
        IN_FOLDER(a_failed_write_is_reported),
    };
    return cmocka_run_group_tests_name("out/directory", tests, NULL, NULL);
}
