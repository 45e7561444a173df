#define _GNU_SOURCE /* RTLD_NEXT, dl_iterate_phdr */

#include "failing.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void *malloc(size_t size);
EXPORTED void *calloc(size_t count, size_t size);
EXPORTED void *realloc(void *memory, size_t size);
EXPORTED char *strdup(const char *text); /* its caller is asked for, not the C library */

static long failing_call;
static long call_count;
static bool persists_after;
static bool is_active;
static bool has_failed;

void plan_failure(long n, bool persists) {
    failing_call = n;
    call_count = 0;
    persists_after = persists;
    has_failed = false;
}

bool stop_failing(void) {
    is_active = false;
    return has_failed;
}

long calls_made(void) {
    return call_count;
}

/* Where the code of json-c lies; empty when it is not loaded. */
static uintptr_t spared_from;
static uintptr_t spared_to;

static int find_spared(struct dl_phdr_info *object, size_t size, void *unused) {
    (void)size;
    (void)unused;
    if (strstr(object->dlpi_name, "/libjson-c.") == NULL) {
        return 0;
    }
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && (part->p_flags & PF_X) != 0) {
            spared_from = object->dlpi_addr + part->p_vaddr;
            spared_to = spared_from + part->p_memsz;
        }
    }
    return 1;
}

static bool is_spared(const void *caller) {
    return (uintptr_t)caller >= spared_from && (uintptr_t)caller < spared_to;
}

void start_failing(void) {
    dl_iterate_phdr(find_spared, NULL);
    is_active = true;
}

static bool fails_now(const void *caller) {
    if (!is_active || is_spared(caller)) {
        return false;
    }
    call_count++;
    bool is_failing = call_count == failing_call ||
                      (persists_after && failing_call > 0 && call_count > failing_call);
    if (is_failing) {
        has_failed = true;
        errno = ENOMEM;
    }
    return is_failing;
}

/* A pointer to a function does not fit into void * in ISO C; POSIX wants it to. */
typedef union symbol {
    void *address;
    void *(*malloc)(size_t size);
    void *(*calloc)(size_t count, size_t size);
    void *(*realloc)(void *memory, size_t size);
} symbol;

static symbol next_of(symbol *known, const char *name) {
    if (known->address == NULL) {
        known->address = dlsym(RTLD_NEXT, name);
    }
    return *known;
}

static void *next_malloc(size_t size) {
    static symbol next;
    return next_of(&next, "malloc").malloc(size);
}

void *malloc(size_t size) {
    return fails_now(__builtin_return_address(0)) ? NULL : next_malloc(size);
}

void *calloc(size_t count, size_t size) {
    static symbol next;
    return fails_now(__builtin_return_address(0)) ? NULL
                                                  : next_of(&next, "calloc").calloc(count, size);
}

void *realloc(void *memory, size_t size) {
    static symbol next;
    return fails_now(__builtin_return_address(0)) ? NULL
                                                  : next_of(&next, "realloc").realloc(memory, size);
}

char *strdup(const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = fails_now(__builtin_return_address(0)) ? NULL : next_malloc(size);
    return copy != NULL ? memcpy(copy, text, size) : NULL;
}
