/*
 * Rows that wait in bf16 to be quantised: the latest ones of a store in a format like KIVI's.
 *
 * Floor kv. They have a buffer beside the place that they will take (kv/layout.h). Pure arithmetic
 * of one store, or of the stores of a layer.
 */
#ifndef SLUICE_KV_WAITING_ROWS_H
#define SLUICE_KV_WAITING_ROWS_H

#include "kv/layout.h"

/* Bytes of the buffers of one layer; 0 where none waits. */
int64_t sli_waiting_buffers_bytes(const sli_part_facts *facts, const sli_layout_options *options);

/* Rows of a store that wait after so many tokens. */
int64_t sli_waiting_rows(const sli_store *store, const sli_layout_options *options, int64_t tokens);

/* Bytes of a row as it waits, on one rank. */
int64_t sli_waiting_row_bytes(const sli_store *store, const sli_layout_options *options);

#endif
