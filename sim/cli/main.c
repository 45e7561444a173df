/* The program: finds the verb, lets it run, and sees to it that what it printed was read. */
#include "cli/command.h"
#include "sluice/sluice.h"

#include <gsl/gsl_errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static bool is_one_of(const char *word, const char *a, const char *b) {
    return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

/* Wherever it stands among the options; behind `--` it is none. */
static bool asks_for_help(int argc, char **argv) {
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (is_one_of(argv[i], "--help", "-h")) {
            return true;
        }
    }
    return false;
}

static int run_verb(int argc, char **argv) {
    if (argc < 2) {
        sli_cmd_help.run(0, NULL);
        return sli_exit_code(SL_ERR_USAGE);
    }
    if (is_one_of(argv[1], "--version", "-V")) {
        printf("sluice %s\n", sl_version());
        return 0;
    }
    if (is_one_of(argv[1], "--help", "-h")) {
        return sli_cmd_help.run(0, NULL);
    }
    const sli_command *command = sli_command_find(argv[1]);
    if (command == NULL) {
        return sli_command_unknown(argv[1]);
    }
    if (asks_for_help(argc - 2, argv + 2)) {
        return sli_cmd_help.run(argc - 1, argv + 1);
    }
    return command->run(argc - 2, argv + 2);
}

/* Results that could not be printed are no success, whatever the verb says. */
static int check_output(int code) {
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return code;
    }
    fputs("sluice: the standard output could not be written\n", stderr);
    return sli_exit_code(SL_ERR_IO);
}

int main(int argc, char **argv) {
    /* A file that hits a size limit is an error to report, not a reason to die. */
    signal(SIGXFSZ, SIG_IGN);
    /* GSL would abort the process; its inputs are checked before every call instead. */
    gsl_set_error_handler_off();
    return check_output(run_verb(argc, argv));
}
