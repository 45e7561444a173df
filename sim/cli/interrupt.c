#include "cli/interrupt.h"

#include <signal.h>
#include <string.h>

/* A signal handler has nothing but globals to reach; this is the only one of the program. */
static volatile int is_interrupted;

static void on_signal(int number) {
    (void)number;
    is_interrupted = 1;
}

const volatile int *sli_interrupt_listen(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = (int)SA_RESETHAND; /* a second one has its usual effect */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return &is_interrupted;
}
