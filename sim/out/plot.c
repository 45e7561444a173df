#include "out/plot.h"

#include "out/svg.h"

#include <math.h>

/* In pixels. */
enum {
    PAGE_WIDTH = 900,
    AREA_LEFT = 84,
    AREA_HEIGHT = 220,
    HEAD_HEIGHT = 64,
    PANEL_TITLE_HEIGHT = 44,
    MARGIN = 24,
    INSET = 18, /* of the first and last point of a line */
    LINE_HEIGHT = 20,
    SWATCH_WIDTH = 24,
    TICK_LABEL_GAP = 12,
    LABEL_HEIGHT_MAX = 150,
};

enum { COLOURS = 8 };

static const double slope_sin = 0.5; /* of labels that are turned, by 30 degrees */

static const char style[] =
    "<style>\n"
    "text{font:12px system-ui,'Segoe UI','DejaVu Sans',sans-serif;fill:#1f2328}\n"
    ".page{fill:#fff}.title{font-size:17px;font-weight:600}.panel{font-weight:600}\n"
    ".muted{fill:#59636e}.grid{stroke:#d8dee4}.axis{stroke:#818b98}\n"
    ".line{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round}\n"
    ".mark{fill:currentColor}.b{text-anchor:middle}.e{text-anchor:end}\n"
    ".c0{color:#2f7ed8}.c1{color:#d9730d}.c2{color:#2a9d5c}.c3{color:#d1453b}\n"
    ".c4{color:#8b5fd6}.c5{color:#16969f}.c6{color:#c8509b}.c7{color:#9c7a3c}\n"
    ".d1{stroke-dasharray:7 3;fill-opacity:.65}.d2{stroke-dasharray:2 3;fill-opacity:.35}\n"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.page{fill:#0d1117}\n"
    ".muted{fill:#9198a1}.grid{stroke:#2a313c}.axis{stroke:#6e7681}}\n"
    "</style>\n";

/* A plot on its way to a file. */
typedef struct sheet {
    FILE *file;
    const sli_plot *plot;
    double width; /* of the area of a panel */
    double label_height;
    bool has_turned_labels;
    bool has_log_x;
    double top; /* of the area of the panel that is drawn */
    sli_scale scale;
} sheet;

/* ---- Places and marks ---- */

static double place_x(const sheet *s, size_t place) {
    const sli_plot *plot = s->plot;
    if (plot->x == NULL || plot->place_count == 1) {
        return AREA_LEFT + s->width * ((double)place + 0.5) / (double)plot->place_count;
    }
    double first = plot->x[0];
    double last = plot->x[plot->place_count - 1];
    double at = plot->x[place];
    double share = s->has_log_x ? log(at / first) / log(last / first)
                                : (at - first) / (last - first);
    return AREA_LEFT + INSET + share * (s->width - 2 * INSET);
}

static double place_y(const sheet *s, double value) {
    return s->top + AREA_HEIGHT * (1.0 - sli_scale_place(&s->scale, value));
}

/* What a mark says when it is pointed at; ends it. */
static void put_tip(const sheet *s, size_t series, size_t place, double value, const char *tag) {
    const sli_plot *plot = s->plot;
    fputs("<title>", s->file);
    if (plot->series_count > 1) {
        sli_svg_escaped(s->file, plot->series[series]);
        fputs(", ", s->file);
    }
    sli_svg_escaped(s->file, plot->places[place]);
    fprintf(s->file, ": %s</title></%s>\n", sli_scale_say(s->scale.quantity, value).text, tag);
}

static void open_group(FILE *file, size_t series) {
    fprintf(file, "<g class=\"c%zu d%zu\">\n", series % COLOURS, series / COLOURS % 3);
}

/* A line is broken where there is no value. */
static void put_lines(const sheet *s, const double *values, size_t series) {
    fputs("<path class=\"line\" d=\"", s->file);
    bool is_pen_up = true;
    for (size_t i = 0; i < s->plot->place_count; i++) {
        if (isfinite(values[i])) {
            fprintf(s->file, "%c%.2f %.2f", is_pen_up ? 'M' : 'L', place_x(s, i),
                    place_y(s, values[i]));
        }
        is_pen_up = !isfinite(values[i]);
    }
    fputs("\"/>\n", s->file);
    for (size_t i = 0; i < s->plot->place_count; i++) {
        if (isfinite(values[i])) {
            fprintf(s->file, "<circle class=\"mark\" cx=\"%.2f\" cy=\"%.2f\" r=\"3.5\">",
                    place_x(s, i), place_y(s, values[i]));
            put_tip(s, series, i, values[i], "circle");
        }
    }
}

/* A bar alone has its value above it, where there is room. What is something is never nothing. */
static void put_bars(const sheet *s, const double *values, size_t series) {
    size_t count = s->plot->series_count;
    double slot = s->width / (double)s->plot->place_count;
    double width = fmin(0.8 * slot / (double)count, 64.0);
    for (size_t i = 0; i < s->plot->place_count; i++) {
        if (!isfinite(values[i])) {
            continue;
        }
        double x = place_x(s, i) + ((double)series - (double)count / 2.0) * width;
        double bottom = s->top + AREA_HEIGHT;
        double y = fmin(place_y(s, values[i]), values[i] > 0.0 ? bottom - 1.0 : bottom);
        fprintf(s->file,
                "<rect class=\"mark\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\">", x, y,
                0.92 * width, bottom - y);
        put_tip(s, series, i, values[i], "rect");
        sli_said value = sli_scale_say(s->scale.quantity, values[i]);
        if (count == 1 && sli_svg_text_width(value.text) < slot) {
            sli_svg_text(s->file, "b", x + 0.46 * width, y - 5.0, slot, value.text);
        }
    }
}

/* ---- Axes ---- */

static void put_y_axis(const sheet *s, const sli_plot_panel *panel) {
    sli_svg_text(s->file, "panel", AREA_LEFT, s->top - 24.0, s->width, panel->title);
    for (size_t i = 0; i < s->scale.tick_count; i++) {
        double y = place_y(s, s->scale.ticks[i]);
        sli_svg_line(s->file, i == 0 ? "axis" : "grid", AREA_LEFT, y, AREA_LEFT + s->width, y);
        sli_svg_text(s->file, "muted e tick", AREA_LEFT - 8, y + 4.0, AREA_LEFT - 8,
                     sli_scale_say(s->scale.quantity, s->scale.ticks[i]).text);
    }
}

/* Of names that would touch the one before, numbers are left out and all names are turned. */
static void put_x_axis(const sheet *s) {
    double bottom = s->top + AREA_HEIGHT;
    double free_from = -INFINITY;
    for (size_t i = 0; i < s->plot->place_count; i++) {
        const char *name = s->plot->places[i];
        double x = place_x(s, i);
        double half = sli_svg_text_width(name) / 2.0;
        if (s->has_turned_labels) {
            fprintf(s->file, "<g transform=\"translate(%.2f %.2f) rotate(-30)\">", x,
                    bottom + 14.0);
            sli_svg_text(s->file, "muted e", 0.0, 0.0, (s->label_height - 16.0) / slope_sin, name);
            fputs("</g>\n", s->file);
        } else if (s->plot->x == NULL || x - half > free_from) {
            sli_svg_line(s->file, "axis", x, bottom, x, bottom + 4.0);
            sli_svg_text(s->file, "muted b", x, bottom + 18.0, 2.0 * half, name);
            free_from = x + half + TICK_LABEL_GAP;
        }
    }
}

static void put_panel(sheet *s, const sli_plot_panel *panel) {
    size_t places = s->plot->place_count;
    s->scale = sli_scale_fit(panel->values, s->plot->series_count * places, panel->quantity);
    put_y_axis(s, panel);
    put_x_axis(s);
    for (size_t i = 0; i < s->plot->series_count; i++) {
        const double *values = panel->values + i * places;
        open_group(s->file, i);
        if (s->plot->x != NULL) {
            put_lines(s, values, i);
        } else {
            put_bars(s, values, i);
        }
        fputs("</g>\n", s->file);
    }
}

/* ---- The sheet ---- */

static double widest(const char *const *names, size_t count) {
    double width = 0.0;
    for (size_t i = 0; i < count; i++) {
        width = fmax(width, sli_svg_text_width(names[i]));
    }
    return width;
}

static double legend_width(const sli_plot *plot) {
    double width = fmax(widest(plot->series, plot->series_count) + SWATCH_WIDTH,
                        sli_svg_text_width(plot->series_title));
    return plot->series_count > 1 ? fmin(width, PAGE_WIDTH / 3.0) + MARGIN : 0.0;
}

static void put_legend(const sheet *s) {
    double x = AREA_LEFT + s->width + MARGIN;
    double y = HEAD_HEIGHT + PANEL_TITLE_HEIGHT;
    double limit = PAGE_WIDTH - MARGIN - x;
    sli_svg_text(s->file, "muted", x, y - 24.0, limit, s->plot->series_title);
    for (size_t i = 0; i < s->plot->series_count; i++, y += LINE_HEIGHT) {
        open_group(s->file, i);
        if (s->plot->x != NULL) {
            sli_svg_line(s->file, "line", x, y + 6.0, x + 18.0, y + 6.0);
        } else {
            fprintf(s->file,
                    "<rect class=\"mark\" x=\"%.2f\" y=\"%.2f\" width=\"12\" height=\"12\"/>\n", x,
                    y);
        }
        fputs("</g>\n", s->file);
        sli_svg_text(s->file, "", x + SWATCH_WIDTH, y + 10.0, limit - SWATCH_WIDTH,
                     s->plot->series[i]);
    }
}

static sheet lay_out(const sli_plot *plot, FILE *file) {
    sheet s = {.file = file, .plot = plot};
    s.width = PAGE_WIDTH - AREA_LEFT - MARGIN - legend_width(plot);
    double name_width = widest(plot->places, plot->place_count);
    bool has_room = name_width + TICK_LABEL_GAP < s.width / (double)plot->place_count;
    s.has_turned_labels = plot->x == NULL && !has_room;
    s.label_height = s.has_turned_labels ? fmin(name_width * slope_sin + 22.0, LABEL_HEIGHT_MAX)
                                         : 28.0;
    s.has_log_x = plot->x != NULL &&
                  sli_scale_wants_log(plot->x[0], plot->x[plot->place_count - 1]);
    return s;
}

sl_err sli_plot_write(const sli_plot *plot, FILE *file) {
    sheet s = lay_out(plot, file);
    double panel_height = PANEL_TITLE_HEIGHT + AREA_HEIGHT + s.label_height;
    double bottom = HEAD_HEIGHT + (double)plot->panel_count * panel_height;
    double legend = HEAD_HEIGHT + PANEL_TITLE_HEIGHT + LINE_HEIGHT * (double)plot->series_count;
    double height = fmax(bottom, plot->series_count > 1 ? legend : 0.0) + LINE_HEIGHT + MARGIN / 2;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" "
            "height=\"%.0f\" role=\"img\">\n<title>",
            PAGE_WIDTH, height, PAGE_WIDTH, height);
    sli_svg_escaped(file, plot->title);
    fprintf(file, "</title>\n%s<rect class=\"page\" width=\"100%%\" height=\"100%%\"/>\n", style);
    sli_svg_text(file, "title", MARGIN, 30.0, PAGE_WIDTH, plot->title);
    sli_svg_text(file, "muted", MARGIN, 50.0, PAGE_WIDTH - 2 * MARGIN, plot->subtitle);
    for (size_t i = 0; i < plot->panel_count; i++) {
        s.top = HEAD_HEIGHT + PANEL_TITLE_HEIGHT + (double)i * panel_height;
        put_panel(&s, &plot->panels[i]);
    }
    sli_svg_text(file, "muted b", AREA_LEFT + s.width / 2.0, bottom + 14.0, s.width, plot->x_title);
    if (plot->series_count > 1) {
        put_legend(&s);
    }
    fputs("</svg>\n", file);
    return ferror(file) ? SL_ERR_IO : SL_OK;
}
