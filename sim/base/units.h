/*
 * Numbers with units, as people write them, and back.
 *
 * Floor base. Parsing is exact for integers: `25 ms` is 25,000,000 ns, `0.5 us` is 500 ns, and
 * `0.3 ns` is an error instead of 0. Decimal and binary prefixes differ (GB, GiB).
 */
#ifndef SLUICE_BASE_UNITS_H
#define SLUICE_BASE_UNITS_H

#include "sluice/err.h"
#include "sluice/param.h"

#include <stdbool.h>

/* Why a text is not a value of a dimension; SLI_UNIT_OK otherwise. */
typedef enum sli_unit_status {
    SLI_UNIT_OK,
    SLI_UNIT_NOT_A_NUMBER, /* no number in front (NaN, inf and hexadecimal are none either) */
    SLI_UNIT_MISSING,      /* a bare number for a dimension */
    SLI_UNIT_UNKNOWN,      /* a unit that this dimension does not have */
    SLI_UNIT_UNEXPECTED,   /* a unit on a number without dimension */
    SLI_UNIT_NOT_WHOLE,    /* not a whole number of base units */
    SLI_UNIT_OVERFLOW,     /* beyond int64_t or double */
} sli_unit_status;

/* Reads `number [unit]`, with or without space between. */
SL_NODISCARD sli_unit_status sli_parse_int(const char *text, sl_dim dim, int64_t *value);
SL_NODISCARD sli_unit_status sli_parse_real(const char *text, sl_dim dim, double *value);

/* The units of a dimension for messages, as "ns, us, ms, s, min, h"; "" without dimension. */
const char *sli_unit_names(sl_dim dim);

/* Writes the shortest text that reads back as exactly the value, as `25 ms`; NUL-terminated. */
void sli_format_int(int64_t value, sl_dim dim, char *text, size_t size);
void sli_format_real(double value, sl_dim dim, char *text, size_t size);

/* For people: 1234567 as 1,234,567. */
void sli_format_count(int64_t value, char *text, size_t size);

typedef struct sli_said {
    char text[40];
} sli_said;

/* The same for any number, in a value that can stand among the arguments of printf: 12.5, 0.001,
 * 1,234.5 (six digits that matter below 1,000, two behind the point above). */
sli_said sli_say_number(double value);

#endif
