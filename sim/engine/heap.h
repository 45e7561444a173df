/*
 * A binary heap of requests by a key that does not change while they are in it.
 *
 * Floor engine. A request may be in one heap of each kind; it remembers its place, so that it can
 * be taken out from anywhere. Ties are broken by the order of admission, so a heap is a function of
 * its contents alone.
 */
#ifndef SLUICE_ENGINE_HEAP_H
#define SLUICE_ENGINE_HEAP_H

#include "sluice/err.h"

#include <stddef.h>
#include <stdint.h>

struct sl_request;

typedef enum sli_heap_kind {
    SLI_HEAP_FINISH,  /* decoders by the step of their last token */
    SLI_HEAP_LONGEST, /* decoders by length, the longest first */
    SLI_HEAP_DUE,     /* decoders by the step in which a window passes what others may find */
    SLI_HEAP_KIND_COUNT
} sli_heap_kind;

typedef struct sli_heap_item {
    int64_t key; /* the smallest is first */
    struct sl_request *request;
} sli_heap_item;

/* Zeroed is a valid and empty heap of kind finish. */
typedef struct sli_heap {
    sli_heap_kind kind;
    sli_heap_item *items;
    size_t count;
    size_t capacity;
} sli_heap;

void sli_heap_fini(sli_heap *heap);

/* O(log n); the others too, the first item O(1). */
SL_NODISCARD sl_err sli_heap_add(sli_heap *heap, int64_t key, struct sl_request *request);
void sli_heap_remove(sli_heap *heap, struct sl_request *request);

#endif
