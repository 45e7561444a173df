#include "model/parallel.h"

#include "base/minmax.h"
#include "model/params.h"

#include <stdio.h>
#include <string.h>

const int64_t sli_tp_degrees[SLI_TP_COUNT] = {1, 2, 4, 8};

/* What ranks do not share out evenly. */
typedef struct obstacle {
    int64_t pieces; /* 0 = there is none */
    const char *what;
} obstacle;

/* A clause at the end of a message; empty when there is nothing to say. */
typedef struct advice {
    char text[64];
} advice;

/* ---- Heads and columns ---- */

/* Of the matrices that are routed experts, or of the others; 1 or less = nothing can be cut. */
static int64_t most_pieces(const sli_part_facts *facts, bool is_routed) {
    int64_t pieces = 0;
    for (int i = 0; i < facts->matrix_count; i++) {
        const sli_matrix *matrix = &facts->matrices[i];
        if (sli_matrix_is_routed(matrix) == is_routed) {
            pieces = sli_max_i64(pieces, matrix->pieces);
        }
    }
    return pieces;
}

/* The most pieces, those of queries in a mixer, have to be divided; fewer can be copied. */
static int64_t uneven_pieces(const sli_part_facts *facts, int64_t tp) {
    int64_t most = most_pieces(facts, false);
    if (most > 1 && most % tp != 0) {
        return most;
    }
    for (int i = 0; i < facts->matrix_count; i++) {
        const sli_matrix *matrix = &facts->matrices[i];
        bool is_even = matrix->pieces % tp == 0 || tp % matrix->pieces == 0;
        if (!sli_matrix_is_routed(matrix) && !is_even) {
            return matrix->pieces;
        }
    }
    return 0;
}

static obstacle find_obstacle(const sli_architecture *architecture, int64_t tp) {
    const sli_layer_run *runs = architecture->layers.rows;
    for (size_t i = 0; i < architecture->layers.count; i++) {
        int64_t heads = uneven_pieces(&runs[i].mixer->facts, tp);
        int64_t columns = uneven_pieces(&runs[i].ffn->facts, tp);
        if (heads > 0) {
            return (obstacle){heads, "heads"};
        }
        if (columns > 0) {
            return (obstacle){columns, "columns of the feed-forward"};
        }
    }
    return (obstacle){0};
}

/* ---- Experts ---- */

/* Columns of an expert that so many ranks do not share out evenly; 0 = there are none. */
static int64_t uneven_columns(const sli_architecture *architecture, int64_t ranks) {
    const sli_layer_run *runs = architecture->layers.rows;
    for (size_t i = 0; i < architecture->layers.count; i++) {
        int64_t columns = most_pieces(&runs[i].ffn->facts, true);
        if (columns % ranks != 0) {
            return columns;
        }
    }
    return 0;
}

static int64_t stage_ranks(const sli_placement *placement) {
    return sli_placement_ranks(placement) / placement->pp;
}

/* ---- Any placement ---- */

static bool can_cut(const sli_architecture *architecture, const sli_placement *placement) {
    return find_obstacle(architecture, placement->tp).pieces == 0;
}

static bool can_group(const sli_architecture *architecture, const sli_placement *placement) {
    int64_t ep = placement->ep;
    int64_t ranks = stage_ranks(placement);
    return ranks % ep == 0 && (ep == 1 || ep <= sli_params_fewest_experts(architecture)) &&
           uneven_columns(architecture, ranks / ep) == 0;
}

bool sli_parallel_can_place(const sli_architecture *architecture, const sli_placement *placement) {
    return can_cut(architecture, placement) &&
           placement->pp <= sli_architecture_layers(architecture) &&
           can_group(architecture, placement);
}

/* No degree is tried above this. */
enum { DEGREE_MAX = 1024 };

typedef bool possibility(const sli_architecture *architecture, const sli_placement *placement);

/* The right degrees on both sides of a wrong one; `degree` points into the placement. */
static advice advise(const char *name, const sli_architecture *architecture,
                     sli_placement *placement, int64_t *degree, possibility *is_right) {
    const int64_t wrong = *degree;
    advice said = {""};
    for (*degree = wrong - 1; *degree > 0 && !is_right(architecture, placement);) {
        --*degree;
    }
    int64_t below = *degree;
    for (*degree = wrong + 1; *degree <= DEGREE_MAX && !is_right(architecture, placement);) {
        ++*degree;
    }
    int64_t above = *degree <= DEGREE_MAX ? *degree : 0;
    if (below > 0 && above > 0) {
        snprintf(said.text, sizeof said.text, "; %s %lld and %lld do", name, (long long)below,
                 (long long)above);
    } else if (below > 0 || above > 0) {
        snprintf(said.text, sizeof said.text, "; %s %lld does", name,
                 (long long)(below > 0 ? below : above));
    }
    return said;
}

static sl_err check_tp(const sli_architecture *architecture, sli_placement placement,
                       sli_diag *diag) {
    const sli_mark nowhere = {0};
    int64_t tp = placement.tp;
    obstacle found = find_obstacle(architecture, tp);
    if (found.pieces == 0) {
        return SL_OK;
    }
    sli_diag_error(diag, nowhere, NULL, "tp %lld does not share out the %lld %s of %s evenly%s",
                   (long long)tp, (long long)found.pieces, found.what, architecture->id,
                   advise("tp", architecture, &placement, &placement.tp, can_cut).text);
    return SL_ERR_CONFIG;
}

static sl_err check_pp(const sli_architecture *architecture, const sli_placement *placement,
                       sli_diag *diag) {
    const sli_mark nowhere = {0};
    int64_t layers = sli_architecture_layers(architecture);
    if (placement->pp <= layers) {
        return SL_OK;
    }
    sli_diag_error(diag, nowhere, NULL, "%s has %lld layers, too few for %lld stages",
                   architecture->id, (long long)layers, (long long)placement->pp);
    return SL_ERR_CONFIG;
}

static sl_err check_ep(const sli_architecture *architecture, sli_placement placement,
                       sli_diag *diag) {
    const sli_mark nowhere = {0};
    int64_t ep = placement.ep;
    int64_t ranks = stage_ranks(&placement);
    int64_t experts = sli_params_fewest_experts(architecture);
    if (can_group(architecture, &placement)) {
        return SL_OK;
    }
    if (experts == 0) {
        sli_diag_error(diag, nowhere, NULL, "%s has no experts for ep %lld to share out",
                       architecture->id, (long long)ep);
        return SL_ERR_CONFIG;
    }
    advice near = advise("ep", architecture, &placement, &placement.ep, can_group);
    if (ranks % ep != 0) {
        sli_diag_error(diag, nowhere, NULL,
                       "ep %lld does not divide the %lld ranks of a stage (tp x dp x cp)%s",
                       (long long)ep, (long long)ranks, near.text);
    } else if (ep > experts) {
        sli_diag_error(diag, nowhere, NULL, "ep %lld leaves ranks without any of %lld experts%s",
                       (long long)ep, (long long)experts, near.text);
    } else {
        sli_diag_error(diag, nowhere, NULL,
                       "%lld ranks (tp x dp x cp / ep) do not share out the %lld columns of an "
                       "expert of %s evenly%s",
                       (long long)(ranks / ep), (long long)uneven_columns(architecture, ranks / ep),
                       architecture->id, near.text);
    }
    return SL_ERR_CONFIG;
}

sl_err sli_parallel_check_placement(const sli_architecture *architecture,
                                    const sli_placement *placement, sli_diag *diag) {
    SL_TRY(check_tp(architecture, *placement, diag));
    SL_TRY(check_pp(architecture, placement, diag));
    return check_ep(architecture, *placement, diag);
}

/* ---- Runs ---- */

static bool is_degree(int64_t tp) {
    for (int i = 0; i < SLI_TP_COUNT; i++) {
        if (sli_tp_degrees[i] == tp) {
            return true;
        }
    }
    return false;
}

bool sli_parallel_can_run(const sli_architecture *architecture, int64_t tp) {
    sli_placement placement = sli_placement_of_tp(tp);
    return is_degree(tp) && sli_parallel_can_place(architecture, &placement);
}

/* One rank always does. */
static advice advise_degrees(const sli_architecture *architecture) {
    advice said = {"; only 1 does"};
    int64_t fitting[SLI_TP_COUNT];
    int count = 0;
    for (int i = 0; i < SLI_TP_COUNT; i++) {
        if (sli_parallel_can_run(architecture, sli_tp_degrees[i])) {
            fitting[count++] = sli_tp_degrees[i];
        }
    }
    for (int i = 0; i < count && count > 1; i++) {
        size_t used = i == 0 ? 0 : strlen(said.text);
        snprintf(said.text + used, sizeof said.text - used, "%s%lld%s",
                 i == 0           ? "; "
                 : i == count - 1 ? " and "
                                  : ", ",
                 (long long)fitting[i], i == count - 1 ? " do" : "");
    }
    return said;
}

static obstacle find_run_obstacle(const sli_architecture *architecture, int64_t tp) {
    obstacle found = find_obstacle(architecture, tp);
    int64_t columns = uneven_columns(architecture, tp);
    bool is_expert = found.pieces == 0 && columns > 0;
    return is_expert ? (obstacle){columns, "columns of an expert"} : found;
}

sl_err sli_parallel_check(const sli_architecture *architecture, int64_t tp, sli_mark mark,
                          const char *key, sli_diag *diag) {
    if (!is_degree(tp)) {
        sli_diag_error(diag, mark, key, "tensor parallelism of %lld is not one of 1, 2, 4, 8",
                       (long long)tp);
        return SL_ERR_CONFIG;
    }
    obstacle found = find_run_obstacle(architecture, tp);
    if (found.pieces > 0) {
        sli_diag_error(diag, mark, key, "%lld ranks do not share out the %lld %s of %s evenly%s",
                       (long long)tp, (long long)found.pieces, found.what, architecture->id,
                       advise_degrees(architecture).text);
        return SL_ERR_CONFIG;
    }
    return SL_OK;
}

/* ---- Ranks that copy nothing ---- */

static bool has_equal_parts(const sli_part_facts *facts, int64_t tp) {
    for (int i = 0; i < facts->matrix_count; i++) {
        if (facts->matrices[i].pieces % tp != 0) {
            return false;
        }
    }
    return true;
}

bool sli_parallel_is_even(const sli_architecture *architecture, int64_t tp) {
    const sli_layer_run *runs = architecture->layers.rows;
    for (size_t i = 0; i < architecture->layers.count; i++) {
        if (!has_equal_parts(&runs[i].mixer->facts, tp) ||
            !has_equal_parts(&runs[i].ffn->facts, tp)) {
            return false;
        }
    }
    return true;
}
