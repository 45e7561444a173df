/*
 * Ctrl-C: the first stops the run and keeps partial results, the second ends the program.
 *
 * Floor cli.
 */
#ifndef SLUICE_CLI_INTERRUPT_H
#define SLUICE_CLI_INTERRUPT_H

/*
 * Listens for SIGINT and SIGTERM; the flag becomes non-zero at the first, which is also said where
 * stderr is a terminal.
 */
const volatile int *sli_interrupt_listen(void);

#endif
