/*
 * Parameter tables: the one description of a setting.
 *
 * A table row names a key, its type and dimension, its range, its default and one sentence of
 * help, and says where in a plain struct the value goes. The same table validates the YAML, fills
 * the struct, prints the help text, drives sweeps and goes into the manifest, so none of them can
 * drift from the others. Policies, schemas, hardware profiles and models all use it.
 */
#ifndef SLUICE_PARAM_H
#define SLUICE_PARAM_H

#include <stddef.h>
#include <stdint.h>

/* The C type behind the offset is given with each. */
typedef enum sl_type {
    SL_TYPE_BOOL,   /* bool; written on/off or true/false */
    SL_TYPE_INT,    /* int64_t, in the base unit of the dimension */
    SL_TYPE_REAL,   /* double, in the base unit of the dimension */
    SL_TYPE_CHOICE, /* int, the index into `choices` */
    SL_TYPE_STRING, /* const char *, owned by the arena that the configuration was read into */
    SL_TYPE_PATH,   /* as a string; relative to the file that says it, to the working directory if
                       --set says it */
    SL_TYPE_NAME_OR_PATH, /* a string; a path if it holds a slash or ends in .yaml or .so */
} sl_type;

/* A value with a dimension must carry a unit in YAML; one without must not. */
typedef enum sl_dim {
    SL_DIM_NONE,
    SL_DIM_TIME,        /* base ns; ns us ms s min h */
    SL_DIM_BYTES,       /* base byte; B kB MB GB TB KiB MiB GiB TiB */
    SL_DIM_TOKENS,      /* base token; tokens (token) */
    SL_DIM_PER_S,       /* base 1/s; /s /min /h, also behind req or requests */
    SL_DIM_BYTES_PER_S, /* base B/s; the units of bytes, then /s */
    SL_DIM_FLOPS_PER_S, /* base FLOP/s; GFLOPS TFLOPS PFLOPS */
    SL_DIM_WATT,        /* base W; W kW */
    SL_DIM_COUNT
} sl_dim;

/* A word that stands for a value of a numeric row, as `native` for a context limit, or for the
 * index of a choice, as another name of it. */
typedef struct sl_word {
    const char *word; /* NULL ends a list */
    double value;
} sl_word;

typedef struct sl_param {
    const char *name; /* the YAML key */
    sl_type type;
    sl_dim dim;
    double min; /* inclusive, in base units; integers beyond 2^53 cannot be expressed */
    double max; /* inclusive; words may lie outside the range */
    const char *const *choices; /* SL_TYPE_CHOICE: NULL-terminated */
    const sl_word *words;       /* numeric types and choices: may be NULL */
    const char *fallback;       /* the default as YAML text; NULL = the key is required */
    const char *help;           /* one sentence, no full stop */
    size_t offset;              /* of the value in the struct */
} sl_param;

#endif
