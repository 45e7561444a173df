#include "kernel/evq.h"

#include "base/grow.h"

#include <stdlib.h>

/*
 * A 4-ary heap of nodes over a table of slots. A node carries the whole order of its event, so that
 * sifting compares without touching the slots; a slot knows where its node is, so that a handle
 * leads to it. Four children instead of two halve the depth, and they lie side by side.
 */
enum { ARITY = 4 };

typedef struct node {
    int64_t at_ns;
    uint64_t rank; /* class, then key */
    uint64_t sequence;
    uint32_t slot;
} node;

typedef struct slot {
    sli_event event;
    uint32_t generation; /* of the event that is in it, or of the next one */
    uint32_t link;       /* pending: index of the node; free: index + 1 of the next free slot */
} slot;

struct sli_evq {
    node *heap;
    size_t heap_count;
    size_t heap_capacity;
    slot *slots;
    size_t slot_count;
    size_t slot_capacity;
    uint32_t free_slot; /* index + 1; 0 = none */
    uint64_t next_sequence;
};

sl_err sli_evq_create(sli_evq **queue) {
    sli_evq *created = calloc(1, sizeof *created);
    if (created == NULL) {
        return SL_ERR_NOMEM;
    }
    *queue = created;
    return SL_OK;
}

void sli_evq_destroy(sli_evq *queue) {
    if (queue == NULL) {
        return;
    }
    free(queue->heap);
    free(queue->slots);
    free(queue);
}

static bool is_before(const node *a, const node *b) {
    if (a->at_ns != b->at_ns) {
        return a->at_ns < b->at_ns;
    }
    if (a->rank != b->rank) {
        return a->rank < b->rank;
    }
    return a->sequence < b->sequence;
}

static void put_node(sli_evq *queue, size_t place, node moved) {
    queue->heap[place] = moved;
    queue->slots[moved.slot].link = (uint32_t)place;
}

/* Puts a node where the hole at `place` is, or above it. */
static void sift_up(sli_evq *queue, size_t place, node moved) {
    while (place > 0) {
        size_t parent = (place - 1) / ARITY;
        if (!is_before(&moved, &queue->heap[parent])) {
            break;
        }
        put_node(queue, place, queue->heap[parent]);
        place = parent;
    }
    put_node(queue, place, moved);
}

/* Puts a node where the hole at `place` is, or below it. */
static void sift_down(sli_evq *queue, size_t place, node moved) {
    for (;;) {
        size_t first = place * ARITY + 1;
        if (first >= queue->heap_count) {
            break;
        }
        size_t end = first + ARITY < queue->heap_count ? first + ARITY : queue->heap_count;
        size_t least = first;
        for (size_t child = first + 1; child < end; child++) {
            if (is_before(&queue->heap[child], &queue->heap[least])) {
                least = child;
            }
        }
        if (!is_before(&queue->heap[least], &moved)) {
            break;
        }
        put_node(queue, place, queue->heap[least]);
        place = least;
    }
    put_node(queue, place, moved);
}

static void sift(sli_evq *queue, size_t place, node moved) {
    if (place > 0 && is_before(&moved, &queue->heap[(place - 1) / ARITY])) {
        sift_up(queue, place, moved);
    } else {
        sift_down(queue, place, moved);
    }
}

/* Takes the node at `place` out of the heap and frees its slot, which makes its handles stale. */
static void remove_at(sli_evq *queue, size_t place) {
    uint32_t index = queue->heap[place].slot;
    slot *freed = &queue->slots[index];
    freed->generation++;
    freed->link = queue->free_slot;
    queue->free_slot = index + 1;
    queue->heap_count--;
    if (place < queue->heap_count) {
        sift(queue, place, queue->heap[queue->heap_count]);
    }
}

static sl_err take_slot(sli_evq *queue, uint32_t *index) {
    if (queue->free_slot != 0) {
        *index = queue->free_slot - 1;
        queue->free_slot = queue->slots[*index].link;
        return SL_OK;
    }
    if (queue->slot_count >= UINT32_MAX) {
        return SL_ERR_NOMEM;
    }
    SL_TRY(sli_grow(&queue->slots, &queue->slot_capacity, queue->slot_count + 1,
                    sizeof *queue->slots));
    *index = (uint32_t)queue->slot_count++;
    queue->slots[*index] = (slot){0};
    return SL_OK;
}

static uint64_t rank_of(const sli_event *event) {
    return (uint64_t)event->class << 32 | event->key;
}

sl_err sli_evq_post(sli_evq *queue, int64_t at_ns, sli_event_class class, uint32_t key,
                    sli_event_fn *fire, void *subject, sli_event_handle *handle) {
    uint32_t index;
    SL_TRY(
        sli_grow(&queue->heap, &queue->heap_capacity, queue->heap_count + 1, sizeof *queue->heap));
    SL_TRY(take_slot(queue, &index));
    slot *taken = &queue->slots[index];
    taken->event = (sli_event){
        .at_ns = at_ns,
        .sequence = queue->next_sequence++,
        .fire = fire,
        .subject = subject,
        .key = key,
        .class = class,
    };
    node added = {
        .at_ns = at_ns,
        .rank = rank_of(&taken->event),
        .sequence = taken->event.sequence,
        .slot = index,
    };
    if (handle != NULL) {
        *handle = (sli_event_handle){.slot = index + 1, .generation = taken->generation};
    }
    sift_up(queue, queue->heap_count++, added);
    return SL_OK;
}

bool sli_evq_is_pending(const sli_evq *queue, sli_event_handle handle) {
    return handle.slot != 0 && handle.slot <= queue->slot_count &&
           queue->slots[handle.slot - 1].generation == handle.generation;
}

bool sli_evq_move(sli_evq *queue, sli_event_handle handle, int64_t at_ns) {
    if (!sli_evq_is_pending(queue, handle)) {
        return false;
    }
    slot *owner = &queue->slots[handle.slot - 1];
    owner->event.at_ns = at_ns;
    owner->event.sequence = queue->next_sequence++;
    node moved = queue->heap[owner->link];
    moved.at_ns = at_ns;
    moved.sequence = owner->event.sequence;
    sift(queue, owner->link, moved);
    return true;
}

bool sli_evq_cancel(sli_evq *queue, sli_event_handle handle) {
    if (!sli_evq_is_pending(queue, handle)) {
        return false;
    }
    remove_at(queue, queue->slots[handle.slot - 1].link);
    return true;
}

const sli_event *sli_evq_peek(const sli_evq *queue) {
    return queue->heap_count > 0 ? &queue->slots[queue->heap[0].slot].event : NULL;
}

bool sli_evq_pop(sli_evq *queue, sli_event *event) {
    const sli_event *next = sli_evq_peek(queue);
    if (next == NULL) {
        return false;
    }
    *event = *next;
    remove_at(queue, 0);
    return true;
}
