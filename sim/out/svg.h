/*
 * Texts and lines of an SVG.
 *
 * Floor out. Coordinates are pixels, written with two decimals, so that they are the same on every
 * machine. `classes` are those of the style sheet. Texts are taken for UTF-8; what is not, and what
 * XML 1.0 cannot hold, becomes U+FFFD. A failed stream is seen by ferror. No memory.
 */
#ifndef SLUICE_OUT_SVG_H
#define SLUICE_OUT_SVG_H

#include <stdio.h>

/* A text between two tags. */
void sli_svg_escaped(FILE *file, const char *text);

/* What a text of 12 pixels takes, by the mean width of a character: fonts differ. */
double sli_svg_text_width(const char *text);

/* Squeezed when it would be wider than `limit`. */
void sli_svg_text(FILE *file, const char *classes, double x, double y, double limit,
                  const char *text);

void sli_svg_line(FILE *file, const char *classes, double x1, double y1, double x2, double y2);

#endif
