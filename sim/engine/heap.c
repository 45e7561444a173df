#include "engine/heap.h"

#include "base/check.h"
#include "base/grow.h"
#include "engine/request.h"

#include <stdlib.h>

void sli_heap_fini(sli_heap *heap) {
    free(heap->items);
    heap->items = NULL;
    heap->count = 0;
    heap->capacity = 0;
}

static bool is_before(const sli_heap_item *a, const sli_heap_item *b) {
    if (a->key != b->key) {
        return a->key < b->key;
    }
    return a->request->admit_order < b->request->admit_order;
}

static void put(sli_heap *heap, size_t place, sli_heap_item item) {
    heap->items[place] = item;
    item.request->heap_places[heap->kind] = place;
}

static void sift_up(sli_heap *heap, size_t place, sli_heap_item item) {
    while (place > 0 && is_before(&item, &heap->items[(place - 1) / 2])) {
        put(heap, place, heap->items[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    put(heap, place, item);
}

static void sift_down(sli_heap *heap, size_t place, sli_heap_item item) {
    size_t child = 2 * place + 1;
    while (child < heap->count) {
        if (child + 1 < heap->count && is_before(&heap->items[child + 1], &heap->items[child])) {
            child++;
        }
        if (!is_before(&heap->items[child], &item)) {
            break;
        }
        put(heap, place, heap->items[child]);
        place = child;
        child = 2 * place + 1;
    }
    put(heap, place, item);
}

sl_err sli_heap_add(sli_heap *heap, int64_t key, sl_request *request) {
    SL_TRY(sli_grow(&heap->items, &heap->capacity, heap->count + 1, sizeof heap->items[0]));
    sift_up(heap, heap->count++, (sli_heap_item){.key = key, .request = request});
    return SL_OK;
}

void sli_heap_remove(sli_heap *heap, sl_request *request) {
    size_t place = request->heap_places[heap->kind];
    SL_ASSERT(place < heap->count && heap->items[place].request == request);
    sli_heap_item last = heap->items[--heap->count];
    if (place == heap->count) {
        return;
    }
    if (place > 0 && is_before(&last, &heap->items[(place - 1) / 2])) {
        sift_up(heap, place, last);
    } else {
        sift_down(heap, place, last);
    }
}
