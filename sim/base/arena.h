/*
 * An arena: memory that is given back all at once.
 *
 * Floor base. Everything that lives as long as a scenario or a world is taken from one arena and
 * freed by sli_arena_fini. A zeroed arena is valid and empty. Not for hot paths.
 */
#ifndef SLUICE_BASE_ARENA_H
#define SLUICE_BASE_ARENA_H

#include "sluice/err.h"

#include <stdarg.h>
#include <stddef.h>

typedef struct sli_arena {
    struct sli_arena_chunk *chunks;
} sli_arena;

/* Frees all that was taken; the arena is empty and usable again. */
void sli_arena_fini(sli_arena *arena);

/* Zeroed bytes, aligned for any type; NULL when memory is out. size 0 gives a valid pointer. */
void *sli_arena_alloc(sli_arena *arena, size_t size);

/* As above for count items of item_size bytes; NULL too when the product overflows. */
void *sli_arena_array(sli_arena *arena, size_t count, size_t item_size);

/* A copy of length bytes with a terminating NUL; NULL when memory is out. */
char *sli_arena_copy(sli_arena *arena, const char *text, size_t length);

/* A copy of a C string; NULL when memory is out. */
char *sli_arena_strdup(sli_arena *arena, const char *text);

/* printf into the arena; NULL when memory is out. */
char *sli_arena_printf(sli_arena *arena, const char *format, ...) SL_PRINTF(2, 3);
char *sli_arena_vprintf(sli_arena *arena, const char *format, va_list args) SL_PRINTF(2, 0);

#endif
