#include "cli/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* A signal handler has nothing but globals to reach; these are the only ones of the program. */
static volatile int is_interrupted;
static volatile sig_atomic_t is_watched; /* stderr is a terminal */

static void on_signal(int number) {
    static const char text[] = "\nstopping; press again to kill\n";
    int errno_before = errno;
    (void)number;
    is_interrupted = 1;
    if (is_watched) {
        ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
        (void)written; /* there is nobody to tell */
    }
    errno = errno_before;
}

const volatile int *sli_interrupt_listen(void) {
    is_watched = isatty(STDERR_FILENO);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = (int)SA_RESETHAND; /* a second one has its usual effect */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return &is_interrupted;
}
