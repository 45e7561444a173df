/*
 * A recorder: a source that passes another one on and writes what arrives to a file.
 *
 * Floor run. The file is one that the source type `sluice` replays, request by request.
 */
#ifndef SLUICE_RUN_RECORDER_H
#define SLUICE_RUN_RECORDER_H

#include "sluice/workload.h"

#include <stdio.h>

typedef struct sli_recorder {
    sl_source source; /* borrowed */
    FILE *file;       /* borrowed */
    sl_err status;    /* the first failure of writing */
    int why;          /* its errno */
} sli_recorder;

/* The source to run instead; borrows the recorder. Its destroy leaves the inner source alone. */
sl_source sli_recorder_source(sli_recorder *recorder);

#endif
