/*
 * Figures as people read and write them: four digits that matter and the unit that reads best.
 *
 * Floor cli. Each answers a small value with its text in it, so that a call can stand among the
 * arguments of printf.
 */
#ifndef SLUICE_CLI_NUMBERS_H
#define SLUICE_CLI_NUMBERS_H

#include "sluice/param.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct sli_number {
    char text[40];
} sli_number;

sli_number sli_say_bytes(double bytes);           /* 10.78 GiB, 70,272 B as 68.62 KiB, 0 as - */
sli_number sli_say_decimal_bytes(double bytes);   /* 65.17 GB, as files are advertised */
sli_number sli_say_count(int64_t count);          /* 131,072 */
sli_number sli_say_flops(double flops);           /* 73.25 GFLOP, 0 as - */
sli_number sli_say_time(double ns);               /* 2.863 ms */
sli_number sli_say_bandwidth(double bytes_per_s); /* 4.8 TB/s */
sli_number sli_say_billions(double count);        /* 32.76, of 32,761,446,400 */
sli_number sli_say_tokens_short(int64_t tokens);  /* 32 Ki, 1 Mi; others as they are */

/* Writes a text that starts at column `indent` and ends a line, broken between words so that it
 * stays within 100 columns where it can. */
void sli_print_wrapped(FILE *file, int indent, const char *text);

/* `32768`, `32768 tokens` with the unit of the dimension, or `32Ki` and `1Mi`. */
bool sli_read_amount(const char *text, sl_dim dim, int64_t *amount);

/* Writes parts with ` · ` between them as lines of at most 100 columns where it can, broken in
 * front of a part. */
void sli_print_parts(FILE *file, const char *text);

/* The columns that a text takes on a terminal: UTF-8 characters, not bytes. */
int sli_columns(const char *text);

#endif
