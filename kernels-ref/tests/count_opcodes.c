/*
 * count_opcodes FILE.cubin: counts the instructions of a device's machine code that matter here,
 * and prints "HMMA n", "LDSM n" and "LDGSTS n": matrix products, loads of their operands,
 * asynchronous copies.
 *
 * cuobjdump would say the same, but is not in every toolkit. An instruction of sm_80 to sm_100 has
 * 16 bytes, its lowest 12 bits say which it is. That is not documented; check_opcodes.sh therefore
 * holds the counts against those of the PTX, of which HMMA and LDSM have to be the same.
 */
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INSTRUCTION_BYTES = 16 };

typedef struct opcode {
    const char *name;
    unsigned low_bits;
    long count;
} opcode;

static unsigned char *read_file(const char *path, size_t *bytes) {
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        return NULL;
    }
    long end = ftell(file);
    unsigned char *content = end > 0 ? malloc((size_t)end) : NULL;
    rewind(file);
    if (content != NULL && fread(content, 1, (size_t)end, file) != (size_t)end) {
        free(content);
        content = NULL;
    }
    fclose(file);
    *bytes = content != NULL ? (size_t)end : 0;
    return content;
}

static void count_section(const unsigned char *code, size_t bytes, opcode *opcodes, int kinds) {
    for (size_t at = 0; at + INSTRUCTION_BYTES <= bytes; at += INSTRUCTION_BYTES) {
        unsigned low_bits = (code[at] | (unsigned)code[at + 1] << 8) & 0xfffU;
        for (int i = 0; i < kinds; i++) {
            opcodes[i].count += opcodes[i].low_bits == low_bits;
        }
    }
}

/* Sections of code; false if the file is not a whole 64-bit ELF. */
static int count_file(const unsigned char *file, size_t bytes, opcode *opcodes, int kinds) {
    Elf64_Ehdr header;
    if (bytes < sizeof header || memcmp(file, ELFMAG, SELFMAG) != 0) {
        return 0;
    }
    memcpy(&header, file, sizeof header);
    for (int i = 0; i < header.e_shnum; i++) {
        Elf64_Shdr section;
        size_t at = header.e_shoff + (size_t)i * sizeof section;
        if (at + sizeof section > bytes) {
            return 0;
        }
        memcpy(&section, file + at, sizeof section);
        if (section.sh_type == SHT_PROGBITS && (section.sh_flags & SHF_EXECINSTR) != 0) {
            if (section.sh_offset + section.sh_size > bytes) {
                return 0;
            }
            count_section(file + section.sh_offset, section.sh_size, opcodes, kinds);
        }
    }
    return 1;
}

int main(int count, char **arguments) {
    opcode opcodes[] = {{"HMMA", 0x23c, 0}, {"LDSM", 0x83b, 0}, {"LDGSTS", 0xfae, 0}};
    enum { KINDS = sizeof opcodes / sizeof opcodes[0] };
    if (count != 2) {
        fprintf(stderr, "usage: count_opcodes FILE.cubin\n");
        return 2;
    }
    size_t bytes = 0;
    unsigned char *file = read_file(arguments[1], &bytes);
    if (file == NULL || !count_file(file, bytes, opcodes, KINDS)) {
        fprintf(stderr, "%s: not a 64-bit ELF file\n", arguments[1]);
        free(file);
        return 1;
    }
    for (int i = 0; i < KINDS; i++) {
        printf("%s %ld\n", opcodes[i].name, opcodes[i].count);
    }
    free(file);
    return 0;
}
