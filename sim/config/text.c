#include "config/text.h"

#include <string.h>

size_t sli_utf8_decode(const char *bytes, size_t length, uint32_t *character) {
    /* The first value that needs so many bytes: shorter forms are the only valid ones. */
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char lead = (unsigned char)bytes[0];
    if (lead < 0x80) {
        *character = lead;
        return 1;
    }
    size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || size > length) {
        return 0;
    }
    uint32_t value = lead & (0xFFU >> (size + 1));
    for (size_t i = 1; i < size; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        if ((byte & 0xC0) != 0x80) {
            return 0;
        }
        value = value << 6 | (byte & 0x3FU);
    }
    bool is_surrogate = value >= 0xD800 && value <= 0xDFFF;
    if (value < smallest[size] || value > 0x10FFFF || is_surrogate) {
        return 0;
    }
    *character = value;
    return size;
}

bool sli_is_printable(uint32_t character) {
    bool is_control = character < 0x20 || (character >= 0x7F && character < 0xA0);
    bool is_separator = character == 0x2028 || character == 0x2029;
    bool is_reserved = character == 0xFEFF || character == 0xFFFE || character == 0xFFFF;
    return !is_control && !is_separator && !is_reserved;
}

sli_excerpt sli_excerpt_of(const char *text) {
    sli_excerpt excerpt = {{0}};
    size_t length = strlen(text);
    size_t used = 0;
    for (size_t i = 0; i < length;) {
        uint32_t character;
        size_t size = sli_utf8_decode(text + i, length - i, &character);
        if (used + (size > 0 ? size : 1) > sizeof excerpt.text - sizeof "...") {
            memcpy(excerpt.text + used, "...", 3);
            break;
        }
        if (size > 0 && sli_is_printable(character)) {
            memcpy(excerpt.text + used, text + i, size);
            used += size;
        } else {
            excerpt.text[used++] = '?';
        }
        i += size > 0 ? size : 1;
    }
    return excerpt;
}

char *sli_join(sli_arena *arena, const char *const *names, size_t count) {
    size_t size = 1;
    for (size_t i = 0; i < count; i++) {
        size += strlen(names[i]) + 2;
    }
    char *joined = sli_arena_alloc(arena, size);
    if (joined == NULL) {
        return NULL;
    }
    char *end = joined;
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            memcpy(end, ", ", 2);
            end += 2;
        }
        size_t length = strlen(names[i]);
        memcpy(end, names[i], length);
        end += length;
    }
    return joined;
}
