/* Any bytes as a trace of Mooncake. */
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
    "\\\"",
    "\n",
    "\r\n",
    " ",
    "null",
    "true",
    "NaN",
    "\"timestamp\"",
    "\"input_length\"",
    "\"output_length\"",
    "\"hash_ids\"",
    "\"hash_ids\": []",
    ", 1",
    ", 2",
    ", 5]",
    "-",
    ".",
    "e3",
    "\\u0000",
    "\xef\xbb\xbf",
    "\xff",
    "//",
    "version https://git-lfs",
    NULL,
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    check_trace(sli_mooncake_create, bytes, length);
    return 0;
}
