/* Any bytes as a trace that sluice exported. */
#include "trace_check.h"
#include "workloads/sources.h"

const char *const entry_words[] = {
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\n",
    "\r\n",
    " ",
    "null",
    "false",
    "1.5",
    "\"timestamp_ns\"",
    "\"input_length\"",
    "\"output_length\"",
    "\"hash_ids\"",
    "\"block_size\"",
    ", \"priority\": ",
    ", \"max_tokens\": ",
    ", 1",
    ", 2",
    ", 5]",
    "-",
    ".",
    "e3",
    "-2147483648",
    "2147483647",
    "\"block_size\": 0",
    "\"block_size\": 64",
    "\xef\xbb\xbf",
    NULL,
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    check_trace(sli_sluice_create, bytes, length);
    return 0;
}
