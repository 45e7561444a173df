/*
 * The readers of trace formats, each in the file of its name.
 *
 * Part workloads. All are sli_trace_read_fn (workloads/trace.h). Zero prompts, lengths above 10^9
 * tokens and times that are negative or no numbers are complaints; zero outputs and ids that do not
 * fit are left to the options.
 */
#ifndef WORKLOADS_READERS_H
#define WORKLOADS_READERS_H

#include "workloads/trace.h"

enum { SLI_TRACE_MAX_TOKENS = 1000000000 };

/*
 * Mooncake (Qin et al., FAST 2025), JSONL: timestamp in ms, input_length and output_length in
 * tokens, hash_ids with one id a block of `block_tokens`, the last block partly filled.
 */
sl_err sli_mooncake_read(sli_lines *lines, int64_t block_tokens, sli_trace *trace);

/*
 * Azure LLM inference traces, CSV with a header: TIMESTAMP (a date and time of day with any number
 * of fractional digits), ContextTokens, GeneratedTokens. Time 0 is the earliest row.
 */
sl_err sli_azure_read(sli_lines *lines, int64_t block_tokens, sli_trace *trace);

/*
 * What sluice exports (workloads/export.h), JSONL: timestamp_ns, input_length, output_length,
 * hash_ids, block_size in tokens and, when not 0, priority and max_tokens. The ids may end before
 * the prompt does; the rest is private to the request.
 */
sl_err sli_sluice_read(sli_lines *lines, int64_t block_tokens, sli_trace *trace);

#endif
