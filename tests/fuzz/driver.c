/*
 * Feeds an entry (entry.h) with damaged texts of a corpus (mutate.h).
 *
 *   fuzz_x FOLDER...                              the 5,000 fixed inputs
 *   fuzz_x FOLDER... --seed S --seconds N         other inputs, for N seconds
 *   fuzz_x FOLDER... --seed S --index I           input I again, in this process
 *   fuzz_x FOLDER... --seed S --index I --show    prints it
 *
 * Inputs run in a child process, so that a crash or a hang is told with the numbers that bring it
 * back. An input that takes longer than ten seconds hangs.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include "entry.h"
#include "mutate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FIXED_INPUTS = 5000, HANG_S = 10 };

typedef struct plan {
    uint64_t seed;
    uint64_t index;
    long seconds; /* 0 = the fixed inputs */
    bool is_single;
    bool is_shown;
} plan;

/* What the child tells its parent. */
typedef struct progress {
    uint64_t index; /* of the input at work */
    uint64_t accepted_count;
    bool is_done;
} progress;

static void usage(void) {
    fputs("usage: fuzz_x FOLDER... [--seed S] [--seconds N | --index I [--show]]\n", stderr);
    exit(2);
}

static plan read_plan(int argc, char **argv, corpus *set) {
    plan p = {.seed = 1};
    set->words = entry_words;
    for (int i = 1; i < argc; i++) {
        bool has_value = i + 1 < argc;
        if (argv[i][0] != '-') {
            corpus_add(set, argv[i]);
        } else if (strcmp(argv[i], "--show") == 0) {
            p.is_shown = true;
        } else if (strcmp(argv[i], "--seed") == 0 && has_value) {
            p.seed = strtoull(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--seconds") == 0 && has_value) {
            p.seconds = strtol(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--index") == 0 && has_value) {
            p.index = strtoull(argv[++i], NULL, 10);
            p.is_single = true;
        } else {
            usage();
        }
    }
    if (set->count == 0) {
        usage();
    }
    return p;
}

static void try_input(const corpus *set, uint64_t seed, uint64_t index) {
    static input made;
    make_input(set, seed, index, &made);
    /* In memory of its exact size, so that a sanitizer sees the first byte read beyond it. */
    uint8_t *bytes = malloc(made.length > 0 ? made.length : 1);
    MUST(bytes != NULL);
    memcpy(bytes, made.bytes, made.length);
    LLVMFuzzerTestOneInput(bytes, made.length);
    free(bytes);
}

static void work(const corpus *set, const plan *p, progress *shared) {
    time_t end = time(NULL) + p->seconds;
    bool is_fixed = p->seconds == 0;
    for (uint64_t i = 0; is_fixed ? i < FIXED_INPUTS : time(NULL) < end; i++) {
        shared->index = i;
        alarm(HANG_S);
        try_input(set, p->seed, i);
    }
    alarm(0);
    shared->index++;
    shared->accepted_count = entry_accepted_count;
    shared->is_done = true;
}

static int report(const progress *shared, const plan *p, int status) {
    if (!shared->is_done) {
        const char *how = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "hangs" : "fails";
        printf("%s: --seed %llu --index %llu\n", how, (unsigned long long)p->seed,
               (unsigned long long)shared->index);
        return 1;
    }
    printf("%llu inputs, %llu accepted\n", (unsigned long long)shared->index,
           (unsigned long long)shared->accepted_count);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        puts("something leaks");
        return 1;
    }
    /* Both kinds, or the corpus has gone stale. */
    if (shared->accepted_count * 50 < shared->index || shared->accepted_count >= shared->index) {
        puts("too few or too many inputs are good ones");
        return 1;
    }
    return 0;
}

int main(int argc, char **argv) {
    static corpus set;
    plan p = read_plan(argc, argv, &set);
    if (p.is_shown) {
        static input made;
        make_input(&set, p.seed, p.index, &made);
        fwrite(made.bytes, 1, made.length, stdout);
        return 0;
    }
    if (p.is_single) {
        try_input(&set, p.seed, p.index);
        return 0;
    }
    progress *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MUST(shared != MAP_FAILED);
    fflush(NULL);
    pid_t child = fork();
    MUST(child >= 0);
    if (child == 0) {
        work(&set, &p, shared);
        exit(0); /* not _exit: here leaks are found and the input file is removed */
    }
    int status = 0;
    MUST(waitpid(child, &status, 0) == child);
    return report(shared, &p, status);
}
