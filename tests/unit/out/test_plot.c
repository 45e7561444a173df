/* Charts are read back: marks are held against the ticks and labels beside them. */
#include "out/plot.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* ---- Drawing ---- */

static const double gib = 0x1p30;

static const char *const token_names[] = {"1,024", "32,768", "131,072"};
static const double tokens[] = {1024, 32768, 131072};
static const char *const kv_names[] = {"bf16", "fp8"};
/* Over a factor of 256, and over one of 2. */
static const double bytes[] = {0x1p28, 0x1p33, 0x1p35, 0x1p27, 0x1p32, 0x1p34};
static const double times[] = {13.38e6, 15.12e6, 20.48e6, 13.35e6, 14.22e6, 16.91e6};

static const sli_plot_panel panels[] = {
    {"cache", SLI_QUANTITY_BYTES, bytes},
    {"step", SLI_QUANTITY_NS, times},
};

static const sli_plot lines = {
    .title = "by tokens and kv",
    .subtitle = "all else",
    .x_title = "tokens",
    .places = token_names,
    .x = tokens,
    .place_count = 3,
    .series_title = "kv",
    .series = kv_names,
    .series_count = 2,
    .panels = panels,
    .panel_count = 2,
};

enum { FILE_BYTES_MAX = 1 << 16 };

/* The caller frees the text. */
static char *draw(const sli_plot *plot) {
    char *text = calloc(1, FILE_BYTES_MAX);
    assert_non_null(text);
    FILE *file = fmemopen(text, FILE_BYTES_MAX, "w");
    assert_non_null(file);
    assert_int_equal(sli_plot_write(plot, file), SL_OK);
    assert_int_equal(fclose(file), 0);
    return text;
}

/* ---- Reading ---- */

enum { MARKS_MAX = 64 };

typedef struct mark {
    double x;
    double y;
    double height; /* of a bar */
    char tip[64];
} mark;

typedef struct tick {
    double y;
    double value;
} tick;

static double attribute(const char *element, const char *name) {
    const char *end = strchr(element, '>');
    const char *at = strstr(element, name);
    assert_true(at != NULL && at < end);
    return strtod(at + strlen(name), NULL);
}

/* The text of the element that begins at `element`. */
static void read_content(const char *element, char *text, size_t size) {
    const char *content = strchr(element, '>') + 1;
    snprintf(text, size, "%.*s", (int)strcspn(content, "<"), content);
}

/* The marks between two places, by how their elements open. */
static size_t find_marks(const char *from, const char *to, const char *opening, mark *marks) {
    size_t count = 0;
    for (const char *at = strstr(from, opening); at != NULL && at < to;
         at = strstr(at + 1, opening)) {
        bool is_bar = strncmp(at, "<rect", 5) == 0;
        assert_true(count < MARKS_MAX);
        mark *m = &marks[count++];
        *m = (mark){.x = attribute(at, is_bar ? " x=\"" : " cx=\""),
                    .y = attribute(at, is_bar ? " y=\"" : " cy=\""),
                    .height = is_bar ? attribute(at, " height=\"") : 0.0};
        const char *tip = strstr(at, "<title>");
        assert_non_null(tip);
        read_content(tip, m->tip, sizeof m->tip);
    }
    return count;
}

static double read_quantity(const char *label) {
    static const struct {
        const char *name;
        double size;
    } units[] = {{" GiB", 0x1p30}, {" MiB", 0x1p20}, {" ms", 1e6}, {"", 1.0}};
    char *unit = NULL;
    double number = strtod(label, &unit);
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        if (strcmp(unit, units[i].name) == 0) {
            return number * units[i].size;
        }
    }
    fail_msg("no unit in %s", label);
    return 0.0;
}

/* The y of a tick is that of its line, which stands in front of its label. */
static size_t find_ticks(const char *from, const char *to, tick *ticks) {
    static const char opening[] = "<text class=\"muted e tick\"";
    size_t count = 0;
    const char *line = strstr(from, "<line");
    for (const char *at = strstr(from, opening); at != NULL && at < to;
         at = strstr(at + 1, opening)) {
        char label[64];
        read_content(at, label, sizeof label);
        ticks[count++] = (tick){attribute(line, " y1=\""), read_quantity(label)};
        line = strstr(at, "<line");
    }
    assert_true(count >= 2);
    return count;
}

/* The value at a height, from the first and the last tick. */
static double value_at(const tick *ticks, size_t count, double y) {
    const tick *low = &ticks[0];
    const tick *high = &ticks[count - 1];
    double share = (y - low->y) / (high->y - low->y);
    return low->value > 0.0 ? low->value * pow(high->value / low->value, share)
                            : share * high->value;
}

static void is_near(double found, double wanted, double tolerance) {
    if (!(fabs(found - wanted) <= tolerance * fabs(wanted))) {
        fail_msg("%g is not near %g", found, wanted);
    }
}

static const char *panel_start(const char *svg, const char *title) {
    char text[64];
    snprintf(text, sizeof text, ">%s</text>", title);
    const char *at = strstr(svg, text);
    assert_non_null(at);
    return at;
}

/* ---- Marks ---- */

/* Pixels have two decimals of 220: 0.005 / 220 of nine powers of two are 0.015 %. */
static void points_are_where_their_values_are(void **state) {
    (void)state;
    char *svg = draw(&lines);
    const char *starts[] = {panel_start(svg, "cache"), panel_start(svg, "step"), svg + strlen(svg)};
    for (size_t i = 0; i < 2; i++) {
        mark marks[MARKS_MAX];
        tick ticks[SLI_TICKS_MAX];
        size_t tick_count = find_ticks(starts[i], starts[i + 1], ticks);
        assert_int_equal(find_marks(starts[i], starts[i + 1], "<circle", marks), 6);
        for (size_t j = 0; j < 6; j++) {
            is_near(value_at(ticks, tick_count, marks[j].y), panels[i].values[j], 2e-4);
            assert_true(marks[j].x == marks[j % 3].x);
        }
        assert_true((ticks[0].value > 0.0) == (i == 0));
    }
    free(svg);
}

/* Of equal steps are powers where x is logarithmic, and differences where it is not. */
static void points_are_spread_by_their_numbers(void **state) {
    (void)state;
    mark marks[MARKS_MAX];
    char *svg = draw(&lines);
    find_marks(svg, svg + strlen(svg), "<circle", marks);
    is_near((marks[1].x - marks[0].x) / (marks[2].x - marks[0].x), 5.0 / 7.0, 1e-4);
    free(svg);

    const double near[] = {10, 20, 50};
    sli_plot plot = lines;
    plot.x = near;
    svg = draw(&plot);
    find_marks(svg, svg + strlen(svg), "<circle", marks);
    is_near((marks[1].x - marks[0].x) / (marks[2].x - marks[0].x), 0.25, 1e-4);
    free(svg);
}

static void a_line_is_broken_where_there_is_no_value(void **state) {
    (void)state;
    const double holes[] = {1, NAN, 3, 4, 5, NAN};
    const sli_plot_panel panel = {"requests", SLI_QUANTITY_COUNT, holes};
    sli_plot plot = lines;
    plot.panels = &panel;
    plot.panel_count = 1;
    char *svg = draw(&plot);
    mark marks[MARKS_MAX];
    assert_int_equal(find_marks(svg, svg + strlen(svg), "<circle", marks), 4);
    assert_string_equal(marks[1].tip, "bf16, 131,072: 3");
    const char *first = strstr(svg, " d=\"");
    const char *second = strstr(first + 1, " d=\"");
    assert_null(memchr(first, 'L', strcspn(first, ">")));
    assert_non_null(memchr(second, 'L', strcspn(second, ">")));
    free(svg);
}

static const char *const model_names[] = {"llama-2-7b", "llama-3.1-8b", "deepseek-v3"};

static sli_plot bars_of(const sli_plot_panel *panel, size_t series_count) {
    sli_plot plot = lines;
    plot.x = NULL;
    plot.places = model_names;
    plot.series_count = series_count;
    plot.panels = panel;
    plot.panel_count = 1;
    return plot;
}

static void bars_stand_on_the_axis_as_high_as_their_values(void **state) {
    (void)state;
    const double sizes[] = {64 * gib, 16 * gib, 8 * gib, 32 * gib, 0.0, 4 * gib};
    const sli_plot_panel panel = {"cache", SLI_QUANTITY_BYTES, sizes};
    sli_plot plot = bars_of(&panel, 2);
    char *svg = draw(&plot);
    mark bars[MARKS_MAX];
    tick ticks[SLI_TICKS_MAX];
    size_t tick_count = find_ticks(svg, svg + strlen(svg), ticks);
    const char *legend = strstr(svg, ">kv</text>");
    assert_non_null(legend);
    assert_int_equal(find_marks(svg, legend, "<rect class=\"mark\"", bars), 6);
    for (size_t i = 0; i < 6; i++) {
        is_near(bars[i].y + bars[i].height, ticks[0].y, 1e-4);
        assert_true(fabs(value_at(ticks, tick_count, bars[i].y) - sizes[i]) < 1e-4 * 64 * gib);
    }
    /* Side by side: a place has both of its bars before the next one begins. */
    for (size_t i = 0; i < 3; i++) {
        assert_true(bars[i].x < bars[i + 3].x);
        assert_true(i == 2 || bars[i + 3].x < bars[i + 1].x);
    }
    free(svg);
}

/* At the low end of a logarithmic axis a bar would have no height. */
static void a_bar_of_something_can_be_seen(void **state) {
    (void)state;
    const double counts[] = {1, 1000, 10};
    const sli_plot_panel panel = {"requests", SLI_QUANTITY_COUNT, counts};
    sli_plot plot = bars_of(&panel, 1);
    char *svg = draw(&plot);
    mark bars[MARKS_MAX];
    assert_int_equal(find_marks(svg, svg + strlen(svg), "<rect class=\"mark\"", bars), 3);
    assert_true(bars[0].height >= 0.99);
    assert_string_equal(bars[1].tip, "llama-3.1-8b: 1,000");
    assert_non_null(strstr(svg, ">1,000</text>"));
    assert_null(strstr(svg, ">kv</text>")); /* one series needs no legend */
    free(svg);
}

/* ---- The file ---- */

/* Tags are closed in order, and & begins a reference: what a parser of XML insists on first. */
static void is_well_formed(const char *svg) {
    char open[32][16];
    size_t depth = 0;
    size_t elements = 0;
    for (const char *at = svg; *at != '\0'; at++) {
        if (*at == '&') {
            assert_int_equal(at[1], '#');
            assert_int_equal(at[2 + strspn(at + 2, "0123456789")], ';');
        }
        assert_true((unsigned char)*at >= 0x20 || *at == '\n');
        if (*at != '<') {
            continue;
        }
        bool is_end = at[1] == '/';
        size_t length = strcspn(at + 1 + is_end, " />");
        const char *close = strchr(at, '>');
        assert_true(close != NULL && length < sizeof open[0]);
        assert_null(memchr(at + 1, '<', (size_t)(close - at - 1)));
        if (is_end) {
            assert_true(depth > 0);
            assert_int_equal(strlen(open[--depth]), length);
            assert_memory_equal(open[depth], at + 2, length);
        } else if (close[-1] != '/') {
            assert_true(depth < COUNT_OF(open));
            snprintf(open[depth++], sizeof open[0], "%.*s", (int)length, at + 1);
        }
        elements++;
        at = close;
    }
    assert_int_equal(depth, 0);
    assert_true(elements > 20);
}

static void names_cannot_break_the_file(void **state) {
    (void)state;
    const char *const names[] = {"a<b>&\"'</svg>", "\x01\xff", "größer"};
    sli_plot plot = bars_of(&panels[0], 2);
    plot.places = names;
    plot.title = "<script>";
    char *svg = draw(&plot);
    is_well_formed(svg);
    assert_null(strstr(svg, "<script"));
    assert_non_null(strstr(svg, "a&#60;b&#62;&#38;\"'&#60;/svg&#62;"));
    assert_non_null(strstr(svg, ">\xef\xbf\xbd\xef\xbf\xbd<"));
    assert_non_null(strstr(svg, ">größer<"));
    free(svg);
}

static void the_file_holds_nothing_but_shapes(void **state) {
    (void)state;
    char *svg = draw(&lines);
    is_well_formed(svg);
    static const char *const strangers[] = {"<script", "href", "url(", "@import", "<image", " on"};
    for (size_t i = 0; i < COUNT_OF(strangers); i++) {
        assert_null(strstr(svg, strangers[i]));
    }
    assert_non_null(strstr(svg, "prefers-color-scheme:dark"));
    free(svg);
}

static void the_same_plot_gives_the_same_bytes(void **state) {
    (void)state;
    char *first = draw(&lines);
    char *second = draw(&lines);
    assert_string_equal(first, second);
    free(first);
    free(second);
}

/* WCAG 2.1: relative luminance of a colour #rrggbb. */
static double luminance(const char *colour) {
    static const double weights[] = {0.2126, 0.7152, 0.0722};
    double sum = 0.0;
    for (int i = 0; i < 3; i++) {
        char digits[3] = {colour[1 + 2 * i], colour[2 + 2 * i], '\0'};
        double part = (double)strtol(digits, NULL, 16) / 255.0;
        sum += weights[i] * (part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4));
    }
    return sum;
}

static double contrast(double a, double b) {
    return (fmax(a, b) + 0.05) / (fmin(a, b) + 0.05);
}

static void colours_stand_out_in_light_and_dark(void **state) {
    (void)state;
    char *svg = draw(&lines);
    size_t colours = 0;
    for (const char *at = strstr(svg, "{color:"); at != NULL; at = strstr(at + 1, "{color:")) {
        double found = luminance(at + strlen("{color:"));
        assert_true(contrast(found, luminance("#ffffff")) >= 3.0);
        assert_true(contrast(found, luminance("#0d1117")) >= 3.0);
        colours++;
    }
    assert_int_equal(colours, 8);
    assert_non_null(strstr(svg, ".page{fill:#0d1117}"));
    free(svg);
}

static void a_failed_stream_is_told(void **state) {
    (void)state;
    FILE *full = fopen("/dev/full", "w");
    if (full == NULL) {
        skip();
    }
    setvbuf(full, NULL, _IONBF, 0);
    assert_int_equal(sli_plot_write(&lines, full), SL_ERR_IO);
    fclose(full);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_are_where_their_values_are),
        cmocka_unit_test(points_are_spread_by_their_numbers),
        cmocka_unit_test(a_line_is_broken_where_there_is_no_value),
        cmocka_unit_test(bars_stand_on_the_axis_as_high_as_their_values),
        cmocka_unit_test(a_bar_of_something_can_be_seen),
        cmocka_unit_test(names_cannot_break_the_file),
        cmocka_unit_test(the_file_holds_nothing_but_shapes),
        cmocka_unit_test(the_same_plot_gives_the_same_bytes),
        cmocka_unit_test(colours_stand_out_in_light_and_dark),
        cmocka_unit_test(a_failed_stream_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
