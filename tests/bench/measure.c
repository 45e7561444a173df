/*
 * Runs a command and says what it took.
 *
 *   measure FILE COMMAND [ARGUMENT...]
 *
 * Writes "CPU_NS MAX_RESIDENT_BYTES" into FILE: user and system time of the whole process, from its
 * start by the loader to its end, and the most memory that it had resident. Ends with the exit
 * code of the command, or with 127 when it could not be run.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CANNOT_RUN = 127, BYTES_PER_KIB = 1024 };

static int64_t ns_of(struct timeval time) {
    return (int64_t)time.tv_sec * 1000000000 + (int64_t)time.tv_usec * 1000;
}

/* The exit code of the command; of a signal, what a shell makes of it. */
static int run(char **command) {
    pid_t child = fork();
    if (child < 0) {
        perror("measure: fork");
        return CANNOT_RUN;
    }
    if (child == 0) {
        execvp(command[0], command);
        perror(command[0]);
        _exit(CANNOT_RUN);
    }
    int status;
    if (waitpid(child, &status, 0) != child) {
        perror("measure: waitpid");
        return CANNOT_RUN;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fputs("usage: measure FILE COMMAND [ARGUMENT...]\n", stderr);
        return CANNOT_RUN;
    }
    int code = run(argv + 2);
    struct rusage usage;
    if (getrusage(RUSAGE_CHILDREN, &usage) != 0) {
        perror("measure: getrusage");
        return CANNOT_RUN;
    }
    FILE *file = fopen(argv[1], "w");
    if (file == NULL) {
        perror(argv[1]);
        return CANNOT_RUN;
    }
    fprintf(file, "%lld %lld\n", (long long)(ns_of(usage.ru_utime) + ns_of(usage.ru_stime)),
            (long long)usage.ru_maxrss * BYTES_PER_KIB);
    return fclose(file) == 0 ? code : CANNOT_RUN;
}
