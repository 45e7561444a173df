#include "cli/estimate_advice.h"

#include "base/divide.h"
#include "cli/estimate_query.h"
#include "cli/numbers.h"
#include "model/attention.h"
#include "model/parallel.h"
#include "model/params.h"

#include <stdarg.h>

/* ---- Sentences ---- */

typedef struct sentence {
    char text[320];
    size_t used;
} sentence;

SL_PRINTF(2, 3) static void add(sentence *it, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(it->text + it->used, sizeof it->text - it->used, format, arguments);
    va_end(arguments);
    it->used += (size_t)length;
    it->used = it->used < sizeof it->text ? it->used : sizeof it->text - 1;
}

static void print(FILE *file, const sentence *it) {
    fputs("    ", file);
    sli_print_wrapped(file, 4, it->text);
}

/* ---- Devices ---- */

/* Devices that share a layer and do not find place in one node. Stages talk to the next one alone,
 * so that each may lie in a node of its own. */
static void add_nodes(sentence *it, const sli_estimate_query *query,
                      const sli_placement *placement) {
    int64_t node_devices = query->device->node_devices.value;
    int64_t stage_devices = sli_placement_ranks(placement) / placement->pp;
    int64_t nodes = sli_divide_up(stage_devices, node_devices);
    if (nodes == 1) {
        return;
    }
    add(it, "%s over ", placement->pp > 1 ? ", each stage" : "");
    if (nodes == 2) {
        add(it, "two nodes");
    } else {
        add(it, "%lld nodes", (long long)nodes);
    }
}

/* `16, as tp 16 over two nodes, or tp 8 × pp 2` */
static void add_placements(sentence *it, const sli_estimate_query *query,
                           const sli_placement *placements, size_t count) {
    if (count == 0) {
        const sli_placement *asked = &query->placement;
        add(it, "more than %lld, with any tp up to 16 and any pp",
            (long long)(SLI_PLACEMENT_DEVICES_MAX * asked->dp * asked->cp));
        return;
    }
    add(it, "%lld", (long long)sli_placement_ranks(&placements[0]));
    for (size_t i = 0; i < count; i++) {
        add(it, "%s%s", i > 0 ? ", or " : ", as ", sli_estimate_say_placement(&placements[i]).text);
        add_nodes(it, query, &placements[i]);
    }
}

/* In powers of two as well, where that is another answer. */
static void print_devices(FILE *file, const sli_estimate_query *query) {
    sli_placement fewest[SLI_PLACEMENTS_MAX];
    sli_placement powers[SLI_PLACEMENTS_MAX];
    size_t fewest_count = sli_estimate_placements(query, false, fewest);
    sentence all = {"", 0};
    add(&all, "the fewest devices that do: ");
    add_placements(&all, query, fewest, fewest_count);
    print(file, &all);
    size_t powers_count = fewest_count > 0 ? sli_estimate_placements(query, true, powers) : 0;
    if (powers_count > 0 && sli_placement_ranks(&powers[0]) > sli_placement_ranks(&fewest[0])) {
        sentence even = {"", 0};
        add(&even, "in powers of two: ");
        add_placements(&even, query, powers, powers_count);
        print(file, &even);
    }
}

/* ---- Copies of the attention ---- */

/* Latents are copied to every rank of tp; copies of the attention with requests of their own share
 * them out, and experts go over the same ranks. */
static void print_copies(FILE *file, const sli_estimate_query *query, const sli_estimate_fit *fit) {
    const sli_placement *asked = &query->placement;
    if (!sli_attention_has_latents(query->architecture) || asked->tp == 1 || asked->dp > 1) {
        return;
    }
    sli_estimate_query copies = *query;
    copies.placement.dp = asked->tp;
    copies.placement.ep = sli_params_fewest_experts(query->architecture) > 0 ? asked->tp : 1;
    copies.placement.tp = 1;
    sli_diag unsaid = {0};
    sli_estimate_fit other = {0};
    bool is_found = sli_parallel_can_place(query->architecture, &copies.placement) &&
                    sli_estimate_fit_find(&copies, &unsaid, &other) == SL_OK;
    sli_diag_fini(&unsaid);
    if (is_found && other.max_requests > fit->max_requests) {
        sentence said = {"", 0};
        add(&said, "on as many devices, as %s: %s at most",
            sli_estimate_say_placement(&copies.placement).text,
            sli_say_count(other.max_requests).text);
        print(file, &said);
    }
}

/* ---- Weights as published ---- */

/* Where they take less. */
static void print_published(FILE *file, const sli_estimate_query *query,
                            const sli_estimate_weights *weights) {
    sli_estimate_query published = sli_estimate_as_published(query);
    sentence said = {"", 0};
    if (sli_estimate_all_weights_bytes(&published) >= weights->bytes) {
        return;
    }
    add(&said, "with weights as published (--weights published): ");
    if (sli_estimate_fits(&published)) {
        add(&said, query->requests == 1 ? "it fits" : "all fit");
    } else {
        sli_placement fewest[SLI_PLACEMENTS_MAX];
        size_t count = sli_estimate_placements(&published, false, fewest);
        add_placements(&said, &published, fewest, count);
    }
    print(file, &said);
}

/* ---- All of it ---- */

/* Scores that are written down are what is too much, whatever the device. */
static void print_kernel(FILE *file, const sli_estimate_query *query, const sli_estimate_fit *fit) {
    sentence said = {"", 0};
    if (query->kernel != NULL && query->kernel->keeps_scores) {
        add(&said,
            "%s attention writes down %s of scores; flash attention (--attention-kernel fa2) none",
            query->kernel->name, sli_say_bytes((double)fit->workspace_bytes).text);
        print(file, &said);
    }
}

void sli_estimate_advise(FILE *file, const sli_estimate_query *query,
                         const sli_estimate *estimate) {
    print_kernel(file, query, &estimate->fit);
    print_devices(file, query);
    print_copies(file, query, &estimate->fit);
    print_published(file, query, &estimate->weights);
}
