/* The whole public promise of libsluice. */
#ifndef SLUICE_SLUICE_H
#define SLUICE_SLUICE_H

#include "sluice/cost.h"
#include "sluice/err.h"
#include "sluice/param.h"
#include "sluice/policy.h"
#include "sluice/probe.h"
#include "sluice/workload.h"

/* The version of the library, as "0.1.0"; part of what a result depends on. */
const char *sl_version(void);

#endif
