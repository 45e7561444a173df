/*
 * A fuzz entry: one function that takes any bytes and must return.
 *
 * Each fuzz_*.c defines the three symbols below. driver.c calls the entry with inputs of its own
 * (mutate.h); libFuzzer finds it by its name, with -D SLUICE_LIBFUZZER=ON.
 */
#ifndef SLUICE_TESTS_FUZZ_ENTRY_H
#define SLUICE_TESTS_FUZZ_ENTRY_H

#include "base/diag.h"

#include <stdint.h>

/* Answers 0; what must not be aborts. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

extern const char *const entry_words[]; /* of the format; NULL-terminated */

/* How many inputs were taken as good ones: a fuzzer that sees refusals alone tests little. */
extern uint64_t entry_accepted_count;

/* Aborts with a message unless the condition holds. */
#define MUST(condition) must((condition), #condition, __FILE__, __LINE__)
void must(bool holds, const char *condition, const char *file, int line);

/* Writes the input to a file, always the same, which is gone when the process ends well. */
const char *input_file(const void *bytes, size_t length);

/* How many lines an input has, the last one finished or not. */
int count_lines(const void *bytes, size_t length);

/*
 * What holds for every answer: SL_OK and no error, or SL_ERR_CONFIG and at least one; each message
 * says something about a line that the input has. Those about the file as a whole stand at line 0;
 * `whole` lists how they begin, NULL-terminated.
 */
void must_be_explained(sl_err err, const sli_diag *diag, int line_count, const char *const *whole);

#endif
