/*
 * A chart as SVG.
 *
 * Floor out. Panels stand above one another and share their places along x: lines where the places
 * are numbers, groups of bars where they are names. What has no value is left out. One file with
 * nothing in it but text and shapes (no script, no fonts, nothing from elsewhere), in light and
 * dark as the viewer prefers; every mark tells its value when pointed at. The same plot gives the
 * same bytes. Must not know what is plotted. No memory; O(values).
 *
 * The colours have a contrast of at least 3 against both backgrounds (WCAG 2.1, 1.4.11).
 */
#ifndef SLUICE_OUT_PLOT_H
#define SLUICE_OUT_PLOT_H

#include "out/scale.h"
#include "sluice/err.h"

#include <stdio.h>

typedef struct sli_plot_panel {
    const char *title;
    sli_quantity quantity;
    const double *values; /* of series s at place i: [s * place_count + i]; NAN = none */
} sli_plot_panel;

typedef struct sli_plot {
    const char *title;
    const char *subtitle;
    const char *x_title;
    const char *const *places; /* their names */
    const double *x;           /* their numbers, rising; NULL = they are names only */
    size_t place_count;
    const char *series_title;
    const char *const *series; /* their names; one alone is not named */
    size_t series_count;
    const sli_plot_panel *panels;
    size_t panel_count;
} sli_plot;

/* Texts are taken for UTF-8; what XML cannot hold becomes U+FFFD. SL_ERR_IO when the stream
 * failed. */
SL_NODISCARD sl_err sli_plot_write(const sli_plot *plot, FILE *file);

#endif
