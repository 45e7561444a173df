#include "out/svg.h"

#include "config/text.h"

#include <string.h>

/* Extensible Markup Language 1.0, fifth edition, production 2. */
static bool is_xml(uint32_t character) {
    return character == '\t' || character == '\n' || character == '\r' ||
           (character >= 0x20 && character <= 0xd7ff) ||
           (character >= 0xe000 && character <= 0xfffd) || character >= 0x10000;
}

void sli_svg_escaped(FILE *file, const char *text) {
    size_t length = strlen(text);
    while (length > 0) {
        uint32_t character = 0;
        size_t size = sli_utf8_decode(text, length, &character);
        if (size == 0 || !is_xml(character)) {
            fputs("\xef\xbf\xbd", file);
        } else if (character == '&' || character == '<' || character == '>') {
            fprintf(file, "&#%u;", (unsigned)character);
        } else {
            fwrite(text, 1, size, file);
        }
        text += size > 0 ? size : 1;
        length -= size > 0 ? size : 1;
    }
}

double sli_svg_text_width(const char *text) {
    static const double character_width = 6.7;
    double characters = 0.0;
    for (; *text != '\0'; text++) {
        characters += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return characters * character_width;
}

void sli_svg_text(FILE *file, const char *classes, double x, double y, double limit,
                  const char *text) {
    fprintf(file, "<text class=\"%s\" x=\"%.2f\" y=\"%.2f\"", classes, x, y);
    if (sli_svg_text_width(text) > limit) {
        fprintf(file, " textLength=\"%.2f\" lengthAdjust=\"spacingAndGlyphs\"", limit);
    }
    fputc('>', file);
    sli_svg_escaped(file, text);
    fputs("</text>\n", file);
}

void sli_svg_line(FILE *file, const char *classes, double x1, double y1, double x2, double y2) {
    fprintf(file, "<line class=\"%s\" x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\"/>\n", classes,
            x1, y1, x2, y2);
}
