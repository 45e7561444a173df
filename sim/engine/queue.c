#include "engine/queue.h"

#include "base/check.h"
#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

void sli_queue_fini(sli_queue *queue) {
    free(queue->levels);
    *queue = (sli_queue){0};
}

static int32_t level_of(const sli_queue *queue, const sl_request *request) {
    return queue->order == SLI_ORDER_PRIORITY ? request->desc.priority : 0;
}

/* The index of the first level that is not below the priority; it may be another level. */
static size_t find_level(const sli_queue *queue, int32_t priority) {
    size_t i = 0;
    while (i < queue->level_count && queue->levels[i].priority < priority) {
        i++;
    }
    return i;
}

static sl_err get_level(sli_queue *queue, int32_t priority, sli_queue_level **level) {
    size_t i = find_level(queue, priority);
    if (i == queue->level_count || queue->levels[i].priority != priority) {
        SL_TRY(sli_grow(&queue->levels, &queue->level_capacity, queue->level_count + 1,
                        sizeof queue->levels[0]));
        memmove(&queue->levels[i + 1], &queue->levels[i],
                (queue->level_count - i) * sizeof queue->levels[0]);
        queue->levels[i] = (sli_queue_level){.priority = priority};
        queue->level_count++;
    }
    *level = &queue->levels[i];
    return SL_OK;
}

/* Links in front of `place`; at the end if that is NULL. */
static void link_before(sli_queue *queue, sli_queue_level *level, sl_request *request,
                        sl_request *place) {
    request->next = place;
    request->previous = place != NULL ? place->previous : level->last;
    *(request->previous != NULL ? &request->previous->next : &level->first) = request;
    *(place != NULL ? &place->previous : &level->last) = request;
    request->state = SLI_REQUEST_WAITING;
    queue->count++;
}

static void tell(const sli_queue *queue) {
    if (queue->changed != NULL && queue->count > 0) {
        queue->changed(queue->listener);
    }
}

sl_err sli_queue_add(sli_queue *queue, sl_request *request) {
    sli_queue_level *level;
    SL_TRY(get_level(queue, level_of(queue, request), &level));
    link_before(queue, level, request, NULL);
    queue->arrival_count++;
    tell(queue);
    return SL_OK;
}

sl_err sli_queue_return(sli_queue *queue, sl_request *request) {
    sli_queue_level *level;
    SL_TRY(get_level(queue, level_of(queue, request), &level));
    sl_request *place = level->first;
    if (queue->order == SLI_ORDER_PRIORITY) {
        while (place != NULL && place->arrival_order < request->arrival_order) {
            place = place->next;
        }
    }
    link_before(queue, level, request, place);
    queue->head_count++;
    tell(queue);
    return SL_OK;
}

void sli_queue_remove(sli_queue *queue, sl_request *request) {
    size_t i = find_level(queue, level_of(queue, request));
    SL_ASSERT(i < queue->level_count);
    sli_queue_level *level = &queue->levels[i];
    *(request->previous != NULL ? &request->previous->next : &level->first) = request->next;
    *(request->next != NULL ? &request->next->previous : &level->last) = request->previous;
    request->previous = NULL;
    request->next = NULL;
    queue->count--;
    queue->head_count++;
    tell(queue);
}

static sl_request *first_from_level(const sli_queue *queue, size_t i) {
    while (i < queue->level_count && queue->levels[i].first == NULL) {
        i++;
    }
    return i < queue->level_count ? queue->levels[i].first : NULL;
}

sl_request *sli_queue_first(const sli_queue *queue) {
    return first_from_level(queue, 0);
}

sl_request *sli_queue_next(const sli_queue *queue, const sl_request *request) {
    if (request->next != NULL) {
        return request->next;
    }
    return first_from_level(queue, find_level(queue, level_of(queue, request)) + 1);
}
