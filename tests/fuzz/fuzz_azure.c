/* Any bytes as a trace of Azure. */
#include "trace_check.h"
#include "workloads/sources.h"

const char *const entry_words[] = {
    ",",
    "\n",
    "\r\n",
    " ",
    "T",
    "Z",
    ":",
    "-",
    ".",
    "+02:00",
    "-23:59",
    "TIMESTAMP",
    "ContextTokens",
    "GeneratedTokens",
    "TIMESTAMP,ContextTokens,GeneratedTokens\n",
    "2024-02-29 23:59:59.9999999",
    "1971-01-01 00:00:00",
    "2261-12-31 23:59:59",
    "2023-02-29",
    "59.99999999999",
    "\"",
    "\xef\xbb\xbf",
    ",,",
    NULL,
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    check_trace(sli_azure_create, bytes, length);
    return 0;
}
