#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 16 * 1024 };

typedef struct sli_arena_chunk {
    struct sli_arena_chunk *next;
    size_t used_bytes;
    size_t size_bytes;
    alignas(max_align_t) unsigned char bytes[];
} sli_arena_chunk;

void sli_arena_fini(sli_arena *arena) {
    sli_arena_chunk *chunk = arena->chunks;
    while (chunk != NULL) {
        sli_arena_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    arena->chunks = NULL;
}

/* Large requests get a chunk of their own, behind the first, which keeps its free tail. */
static sli_arena_chunk *add_chunk(sli_arena *arena, size_t size) {
    size_t size_bytes = size > CHUNK_BYTES ? size : CHUNK_BYTES;
    sli_arena_chunk *chunk = calloc(1, sizeof *chunk + size_bytes);
    if (chunk == NULL) {
        return NULL;
    }
    chunk->size_bytes = size_bytes;
    if (size > CHUNK_BYTES && arena->chunks != NULL) {
        chunk->next = arena->chunks->next;
        arena->chunks->next = chunk;
    } else {
        chunk->next = arena->chunks;
        arena->chunks = chunk;
    }
    return chunk;
}

void *sli_arena_alloc(sli_arena *arena, size_t size) {
    const size_t align = alignof(max_align_t);
    if (size > SIZE_MAX / 2) {
        return NULL;
    }
    size = (size + align - 1) / align * align;
    sli_arena_chunk *chunk = arena->chunks;
    if (chunk == NULL || chunk->size_bytes - chunk->used_bytes < size) {
        chunk = add_chunk(arena, size);
        if (chunk == NULL) {
            return NULL;
        }
    }
    void *result = chunk->bytes + chunk->used_bytes;
    chunk->used_bytes += size;
    return result;
}

void *sli_arena_array(sli_arena *arena, size_t count, size_t item_size) {
    if (item_size != 0 && count > SIZE_MAX / 2 / item_size) {
        return NULL;
    }
    return sli_arena_alloc(arena, count * item_size);
}

char *sli_arena_copy(sli_arena *arena, const char *text, size_t length) {
    char *copy = sli_arena_alloc(arena, length + 1);
    if (copy != NULL && length > 0) {
        memcpy(copy, text, length);
    }
    return copy;
}

char *sli_arena_strdup(sli_arena *arena, const char *text) {
    return sli_arena_copy(arena, text, strlen(text));
}

char *sli_arena_vprintf(sli_arena *arena, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0) {
        return NULL;
    }
    char *text = sli_arena_alloc(arena, (size_t)length + 1);
    if (text != NULL) {
        vsnprintf(text, (size_t)length + 1, format, args);
    }
    return text;
}

char *sli_arena_printf(sli_arena *arena, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = sli_arena_vprintf(arena, format, args);
    va_end(args);
    return text;
}
