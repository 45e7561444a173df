#include "cli/estimate_table.h"

#include "cli/estimate_remarks.h"
#include "cli/numbers.h"

#include <math.h>
#include <string.h>

enum { LABEL_COLUMNS = 20, CELL_COLUMNS = 13, BAR_COLUMNS = 24 };

/* ---- Labels ---- */

/* So wide that they end together. */
static int find_label_columns(sli_arena *arena, const sli_axis *axis, const sli_sweep_point *points,
                              size_t stride) {
    int widest = LABEL_COLUMNS;
    for (size_t i = 0; i < axis->count; i++) {
        int width = sli_columns(sli_sweep_label(arena, axis, i, &points[i * stride]));
        widest = width > widest ? width : widest;
    }
    return widest;
}

/* ---- Figures ---- */

/* What is said of a point, and how long a bar it makes. */
typedef struct figure {
    const char *name;  /* at the head of a column */
    const char *title; /* of a grid; NULL = it has none */
    sli_number (*say)(const sli_estimate *estimate);
    double (*size)(const sli_estimate *estimate);
} figure;

static double request_size(const sli_estimate *estimate) {
    return (double)estimate->cache.request_bytes;
}

static double total_size(const sli_estimate *estimate) {
    return (double)estimate->cache.total_bytes;
}

static double floor_size(const sli_estimate *estimate) {
    return estimate->step.floor_ns;
}

static double fitting_size(const sli_estimate *estimate) {
    return (double)estimate->fit.max_requests;
}

static sli_number say_request(const sli_estimate *estimate) {
    return sli_say_bytes(request_size(estimate));
}

static sli_number say_total(const sli_estimate *estimate) {
    return sli_say_bytes(total_size(estimate));
}

static sli_number say_floor(const sli_estimate *estimate) {
    return sli_say_time(floor_size(estimate));
}

static sli_number say_fitting(const sli_estimate *estimate) {
    int64_t count = estimate->fit.max_requests;
    return count == SLI_UNBOUNDED ? (sli_number){"any"} : sli_say_count(count);
}

static const figure request_figure = {"a request", NULL, say_request, request_size};
static const figure total_figure = {"all requests", "cache of all requests", say_total, total_size};
static const figure floor_figure = {"step, least", "a decode step takes at least", say_floor,
                                    floor_size};
static const figure fitting_figure = {"at most fit", "requests that fit at most", say_fitting,
                                      fitting_size};

enum { FIGURES_MAX = 4 };

typedef struct figure_list {
    const figure *figures[FIGURES_MAX];
    size_t count;
} figure_list;

static void add_figure(figure_list *list, const figure *added) {
    list->figures[list->count++] = added;
}

static sli_number say(const figure *shown, const sli_sweep_point *at) {
    return at->refusal == NULL ? shown->say(&at->estimate) : (sli_number){"-"};
}

/* ---- What is the same everywhere ---- */

/* The first of some points, `stride` apart, that has an estimate; else the first. */
static const sli_sweep_point *find_first(const sli_sweep_point *points, size_t count,
                                         size_t stride) {
    for (size_t i = 0; i < count; i++) {
        if (points[i * stride].refusal == NULL) {
            return &points[i * stride];
        }
    }
    return points;
}

/* Points that cannot be are like all others. */
static bool are_alike(const figure *shown, const sli_sweep_point *points, size_t count,
                      size_t stride) {
    const sli_sweep_point *first = find_first(points, count, stride);
    bool are = true;
    for (size_t i = 0; i < count; i++) {
        const sli_sweep_point *at = &points[i * stride];
        are = are &&
              (at->refusal != NULL || strcmp(say(shown, at).text, say(shown, first).text) == 0);
    }
    return are;
}

/* From row to row, and from column to column. */
static bool varies_down(const sli_sweep *s, const figure *shown) {
    bool varies = false;
    for (size_t j = 0; j < s->columns; j++) {
        varies = varies || !are_alike(shown, &s->points[j], s->rows, s->columns);
    }
    return varies;
}

static bool varies_across(const sli_sweep *s, const figure *shown) {
    bool varies = false;
    for (size_t i = 0; i < s->rows; i++) {
        varies = varies || !are_alike(shown, &s->points[i * s->columns], s->columns, 1);
    }
    return varies;
}

/* One request is all requests. */
static bool are_all_one(const sli_sweep *s) {
    bool are_one = true;
    for (size_t i = 0; i < s->rows; i++) {
        const sli_sweep_point *at = &s->points[i];
        are_one = are_one &&
                  strcmp(say(&request_figure, at).text, say(&total_figure, at).text) == 0;
    }
    return are_one;
}

/* ---- One axis ---- */

/* In eighths of a column, with the blocks U+2588 to U+258F; never nothing for something. */
static void print_bar(FILE *file, double share) {
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    long length = lround(share * BAR_COLUMNS * 8);
    length = share > 0.0 && length == 0 ? 1 : length;
    for (long i = 0; i < length / 8; i++) {
        fputs("█", file);
    }
    fputs(eighths[length % 8], file);
}

static double size_of(const figure *shown, const sli_sweep_point *at) {
    return at->refusal == NULL ? shown->size(&at->estimate) : 0.0;
}

static double largest(const sli_sweep *s, const figure *shown) {
    double most = 1.0;
    for (size_t i = 0; i < s->rows; i++) {
        most = fmax(most, size_of(shown, &s->points[i]));
    }
    return most;
}

static void print_line(FILE *file, sli_arena *arena, const sli_sweep *s, size_t i,
                       const figure_list *columns) {
    int label_columns = find_label_columns(arena, &s->axes[0], s->points, s->columns);
    const sli_sweep_point *at = &s->points[i];
    const figure *first = columns->figures[0];
    fprintf(file, "  %*s", label_columns, sli_sweep_label(arena, &s->axes[0], i, at));
    for (size_t j = 0; j < columns->count; j++) {
        fprintf(file, "%*s", CELL_COLUMNS, say(columns->figures[j], at).text);
    }
    fputs("  ", file);
    print_bar(file, size_of(first, at) / largest(s, first));
    fputc('\n', file);
}

static figure_list find_columns(const sli_sweep *s) {
    sli_sweep_shown shown = sli_sweep_shows(s);
    figure_list all = {.count = 0};
    add_figure(&all, &request_figure);
    if (!are_all_one(s)) {
        add_figure(&all, &total_figure);
    }
    if (shown.has_time) {
        add_figure(&all, &floor_figure);
    }
    if (shown.has_fit) {
        add_figure(&all, &fitting_figure);
    }
    return all;
}

/* Those that vary, or all of them when none does. */
static figure_list find_varying(const sli_sweep *s, const figure_list *all) {
    figure_list varying = {.count = 0};
    for (size_t i = 0; i < all->count; i++) {
        if (varies_down(s, all->figures[i])) {
            add_figure(&varying, all->figures[i]);
        }
    }
    return varying.count > 0 ? varying : *all;
}

/* `  everywhere: a request 8 GiB, at most fit 0` */
static void print_constant(FILE *file, const sli_sweep *s, const figure_list *all) {
    const sli_sweep_point *first = find_first(s->points, s->rows, 1);
    const char *before = "  everywhere: ";
    for (size_t i = 0; i < all->count; i++) {
        if (!varies_down(s, all->figures[i])) {
            fprintf(file, "%s%s %s", before, all->figures[i]->name,
                    say(all->figures[i], first).text);
            before = ", ";
        }
    }
    fputc('\n', file);
}

static void print_lines(FILE *file, sli_arena *arena, const sli_sweep *s) {
    figure_list all = find_columns(s);
    figure_list columns = find_varying(s, &all);
    if (columns.count < all.count) {
        print_constant(file, s, &all);
    }
    fprintf(file, "\n  %*s", find_label_columns(arena, &s->axes[0], s->points, s->columns),
            s->axes[0].setting->name);
    for (size_t j = 0; j < columns.count; j++) {
        fprintf(file, "%*s", CELL_COLUMNS, columns.figures[j]->name);
    }
    fputc('\n', file);
    for (size_t i = 0; i < s->rows; i++) {
        print_line(file, arena, s, i, &columns);
    }
}

/* ---- Two axes ---- */

/* So wide that the names of the second axis stand apart. */
static int find_cell_columns(sli_arena *arena, const sli_sweep *s) {
    int widest = CELL_COLUMNS;
    for (size_t j = 0; j < s->columns; j++) {
        int width = sli_columns(sli_sweep_label(arena, &s->axes[1], j, &s->points[j])) + 2;
        widest = width > widest ? width : widest;
    }
    return widest;
}

/* The names of the second axis. */
static void print_across(FILE *file, sli_arena *arena, const sli_sweep *s, int width) {
    int label_columns = find_label_columns(arena, &s->axes[0], s->points, s->columns);
    fprintf(file, "  %*s%*s\n", label_columns, "", width, s->axes[1].setting->name);
    fprintf(file, "  %*s", label_columns, s->axes[0].setting->name);
    for (size_t j = 0; j < s->columns; j++) {
        fprintf(file, "%*s", width, sli_sweep_label(arena, &s->axes[1], j, &s->points[j]));
    }
    fputc('\n', file);
}

static void print_rows(FILE *file, sli_arena *arena, const sli_sweep *s, const figure *shown,
                       int width) {
    int label_columns = find_label_columns(arena, &s->axes[0], s->points, s->columns);
    for (size_t i = 0; i < s->rows; i++) {
        const sli_sweep_point *row = &s->points[i * s->columns];
        fprintf(file, "  %*s", label_columns, sli_sweep_label(arena, &s->axes[0], i, row));
        for (size_t j = 0; j < s->columns; j++) {
            fprintf(file, "%*s", width, say(shown, &row[j]).text);
        }
        fputc('\n', file);
    }
}

/* Of a figure that one axis alone changes: a line for each of its values, `stride` points apart;
 * along the other one there are `count` of them, `step` apart. */
typedef struct list_shape {
    const sli_axis *axis;
    size_t stride;
    size_t count;
    size_t step;
} list_shape;

static void print_list(FILE *file, sli_arena *arena, const sli_sweep *s, const figure *shown,
                       const list_shape *shape) {
    int label_columns = find_label_columns(arena, shape->axis, s->points, shape->stride);
    fprintf(file, "  %*s\n", label_columns, shape->axis->setting->name);
    for (size_t i = 0; i < shape->axis->count; i++) {
        const sli_sweep_point *points = &s->points[i * shape->stride];
        const sli_sweep_point *first = find_first(points, shape->count, shape->step);
        fprintf(file, "  %*s%*s\n", label_columns, sli_sweep_label(arena, shape->axis, i, points),
                CELL_COLUMNS, say(shown, first).text);
    }
}

/* A figure that no more than one axis changes is a list, or a word. */
static void print_grid(FILE *file, sli_arena *arena, const sli_sweep *s, const figure *shown) {
    int width = find_cell_columns(arena, s);
    bool is_wide = varies_across(s, shown);
    bool is_high = varies_down(s, shown);
    fprintf(file, "\n  %s", shown->title);
    if (is_wide && is_high) {
        fputs("\n\n", file);
        print_across(file, arena, s, width);
        print_rows(file, arena, s, shown, width);
    } else if (is_wide || is_high) {
        list_shape down = {&s->axes[0], s->columns, s->columns, 1};
        list_shape across = {&s->axes[1], 1, s->rows, s->columns};
        fprintf(file, ", whatever %s\n\n", s->axes[is_high ? 1 : 0].setting->name);
        print_list(file, arena, s, shown, is_high ? &down : &across);
    } else {
        const sli_sweep_point *first = find_first(s->points, s->rows * s->columns, 1);
        fprintf(file, ": %s everywhere\n", say(shown, first).text);
    }
}

static void print_grids(FILE *file, sli_arena *arena, const sli_sweep *s) {
    sli_sweep_shown shown = sli_sweep_shows(s);
    print_grid(file, arena, s, &total_figure);
    if (shown.has_time) {
        print_grid(file, arena, s, &floor_figure);
    }
    if (shown.has_fit) {
        print_grid(file, arena, s, &fitting_figure);
    }
}

/* ---- Remarks ---- */

/* Each sentence once, however many points have it. */
typedef struct remark_list {
    const char **texts;
    size_t count;
} remark_list;

static void add_remark(remark_list *list, const char *text) {
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->texts[i], text) == 0) {
            return;
        }
    }
    list->texts[list->count++] = text;
}

static void add_remarks(sli_arena *arena, const sli_sweep_point *at, remark_list *list) {
    sli_remarks remarks = sli_estimate_remarks(&at->query);
    for (size_t i = 0; i < remarks.count && at->refusal == NULL; i++) {
        const char *text = sli_arena_strdup(arena, remarks.texts[i]);
        add_remark(list, text != NULL ? text : "");
    }
    if (at->refusal != NULL) {
        add_remark(list, at->refusal);
    }
}

static bool fits_nowhere(const sli_sweep *s) {
    bool fits = false;
    for (size_t i = 0; i < s->rows * s->columns; i++) {
        fits = fits || s->points[i].estimate.fit.is_met;
    }
    return sli_sweep_shows(s).has_fit && !fits;
}

static bool is_flat(const sli_sweep *s) {
    figure_list all = find_columns(s);
    bool varies = false;
    for (size_t i = 0; i < all.count; i++) {
        varies = varies || varies_down(s, all.figures[i]) || varies_across(s, all.figures[i]);
    }
    return !varies;
}

/* No more of them than anybody reads. */
static void print_remarks(FILE *file, sli_arena *arena, const sli_sweep *s) {
    enum { READ_MAX = 8 };
    size_t points = s->rows * s->columns;
    remark_list list = {
        .texts = sli_arena_array(arena, points * (SLI_REMARKS_MAX + 1) + 2, sizeof *list.texts)};
    if (list.texts == NULL) {
        return;
    }
    if (fits_nowhere(s)) {
        add_remark(&list, "nothing fits: no point has room for all of its requests");
    }
    if (points > 1 && is_flat(s)) {
        add_remark(&list, "all points are alike: nothing here depends on what is swept");
    }
    for (size_t i = 0; i < points; i++) {
        add_remarks(arena, &s->points[i], &list);
    }
    fputs(list.count > 0 ? "\n  remarks\n" : "", file);
    for (size_t i = 0; i < list.count && i < READ_MAX; i++) {
        fputs("    ", file);
        sli_print_wrapped(file, 4, list.texts[i]);
    }
    if (list.count > READ_MAX) {
        fprintf(file, "    and %zu more\n", list.count - READ_MAX);
    }
}

void sli_sweep_print(FILE *file, sli_arena *arena, const sli_sweep *sweep) {
    const char *heading = sli_sweep_heading(arena, sweep);
    sli_print_parts(file, heading != NULL ? heading : "");
    if (sweep->axis_count == 2) {
        print_grids(file, arena, sweep);
    } else {
        print_lines(file, arena, sweep);
    }
    print_remarks(file, arena, sweep);
}
