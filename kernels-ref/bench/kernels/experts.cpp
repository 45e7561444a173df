/* A mixture of experts: router, order, product of the experts, sum. Each token chooses experts that
 * lie evenly, so all are equally busy. */
#include "bench/cpu/experts.h"
#include "bench/array.h"
#include "bench/kernel.h"
#include "bench/kernel_job.h"
#include "cuda/expert_gemm.h"
#include "cuda/expert_sum.h"
#include "cuda/router.h"

namespace kref::bench {

namespace {

constexpr int64_t PAIRS_MAX = 16777216;

shape shape_of(int64_t rows, int64_t experts, int64_t chosen, int64_t width, int64_t depth) {
    shape its = sli_no_measurement;
    its.element = "bf16";
    its.rows = rows;
    its.experts = experts;
    its.chosen = chosen;
    its.width = width;
    its.depth = depth;
    return its;
}

/* Without what a kernel does not know. */
std::vector<shape> all_shapes(bool is_quick, bool has_experts, bool has_width, bool has_depth) {
    std::vector<shape> all;
    if (is_quick) {
        all = {shape_of(9, 16, 2, 64, 64)};
    } else {
        for (int64_t rows : {1, 16, 64, 256, 1024, 4096, 16384}) {
            all.push_back(shape_of(rows, 128, 8, 1536, 4096)); /* Qwen3 235B: gate and up, halved */
            all.push_back(shape_of(rows, 256, 8, 4096, 7168)); /* DeepSeek-V3: gate and up */
            all.push_back(shape_of(rows, 8, 2, 28672, 4096));  /* Mixtral 8x7B: gate and up */
        }
    }
    for (shape &its : all) {
        its.experts = has_experts ? its.experts : SLI_NOT_MEASURED;
        its.width = has_width ? its.width : SLI_NOT_MEASURED;
        its.depth = has_depth ? its.depth : SLI_NOT_MEASURED;
    }
    return all;
}

int64_t pairs_of(const shape &its) {
    return count_of({its.rows, its.chosen});
}

const char *pairs_refusal(const shape &its) {
    return pairs_of(its) > PAIRS_MAX
               ? "the bench measures at most 16777216 pairs of token and expert"
               : nullptr;
}

/* Experts of each pair: those of a token differ, because they follow each other. */
std::vector<int32_t> chosen_of(const shape &its) {
    return numbers(pairs_of(its), its.experts);
}

kref_expert_shape form_of(const shape &its, const std::vector<int32_t> &counts) {
    kref_expert_shape form = {};
    form.counts = counts.data();
    form.experts = its.experts;
    form.pairs = pairs_of(its);
    form.top_k = its.chosen;
    form.n = its.width;
    form.k = its.depth;
    form.output_bytes = sizeof(bf16);
    return form;
}

std::vector<int32_t> counts_of(const shape &its) {
    std::vector<int32_t> counts(static_cast<size_t>(its.experts), 0);
    for (int32_t expert : chosen_of(its)) {
        counts[static_cast<size_t>(expert)]++;
    }
    return counts;
}

/* ---- Router ---- */

std::vector<shape> router_shapes(bool is_quick) {
    std::vector<shape> all = all_shapes(is_quick, true, false, false);
    for (shape &its : all) {
        its.element = "f32";
    }
    return all;
}

router_args router_args_of(const shape &its) {
    router_args args = {};
    args.tokens = to_int(its.rows);
    args.experts = to_int(its.experts);
    args.top_k = to_int(its.chosen);
    args.is_normalised = true;
    return args;
}

const char *refuse_router(const shape &its) {
    return router_refusal(router_args_of(its));
}

kref_work router_work(const shape &its) {
    return kref_router_work(its.rows, its.experts, its.chosen);
}

const char *route_on_cpu(const router_args &args, void *) {
    kref_cpu_route(plain(args.scores), plain(args.chosen), plain(args.weights), args.tokens,
                   args.experts, args.top_k, args.is_normalised);
    return nullptr;
}

class router_job : public kernel_job<router_args> {
  public:
    router_job(const shape &its, backend &on)
        : kernel_job(on, {router, route_on_cpu}),
          scores_(on, count_of({its.rows, its.experts}), 4.0F), chosen_(on, pairs_of(its)),
          weights_(on, pairs_of(its)) {
        args_ = router_args_of(its);
        args_.scores = scores_.data();
        args_.chosen = chosen_.data();
        args_.weights = weights_.data();
    }

  private:
    filled<float> scores_;
    array<int32_t> chosen_;
    array<float> weights_;
};

/* ---- Order ---- */

/* Tiles are for a device. */
const char *order_on_cpu(const expert_order_args &args, void *) {
    const expert_groups &groups = args.groups;
    kref_cpu_expert_order(plain(args.chosen), groups.pairs, groups.experts, plain(groups.starts),
                          plain(groups.order), plain(groups.places));
    return nullptr;
}

/* Groups with their memory, and what sorts into them. */
class order_job : public kernel_job<expert_order_args> {
  public:
    order_job(const shape &its, backend &on)
        : kernel_job(on, {expert_order, order_on_cpu}), groups_(sizes_of(its)),
          chosen_(on, chosen_of(its)), starts_(on, its.experts + 1), order_(on, pairs_of(its)),
          places_(on, pairs_of(its)), tiles_(on, 2 * int64_t{expert_tiles_max(groups_)}),
          tile_count_(on, 1), workspace_(on, expert_order_workspace(groups_)) {
        groups_.starts = starts_.data();
        groups_.order = order_.data();
        groups_.places = places_.data();
        groups_.tiles = tiles_.data();
        groups_.tile_count = tile_count_.data();
        args_.chosen = chosen_.data();
        args_.workspace = workspace_.data();
        args_.groups = groups_;
    }

    static expert_groups sizes_of(const shape &its) {
        expert_groups groups = {};
        groups.pairs = to_int(pairs_of(its));
        groups.experts = to_int(its.experts);
        return groups;
    }

    const expert_groups &groups() const {
        return groups_;
    }

  private:
    expert_groups groups_;
    array<int32_t> chosen_;
    array<int32_t> starts_;
    array<int32_t> order_;
    array<int32_t> places_;
    array<int32_t> tiles_;
    array<int32_t> tile_count_;
    array<int32_t> workspace_;
};

std::vector<shape> order_shapes(bool is_quick) {
    std::vector<shape> all = all_shapes(is_quick, true, false, false);
    for (shape &its : all) {
        its.element = "int32";
    }
    return all;
}

const char *refuse_order(const shape &its) {
    const char *refusal = pairs_refusal(its);
    if (refusal != nullptr) {
        return refusal;
    }
    expert_order_args args = {};
    args.groups = order_job::sizes_of(its);
    return expert_order_refusal(args);
}

kref_work order_work(const shape &its) {
    std::vector<int32_t> counts = counts_of(its);
    kref_expert_shape form = form_of(its, counts);
    return kref_expert_order_work(&form);
}

/* ---- Product ---- */

std::vector<shape> gemm_shapes(bool is_quick) {
    return all_shapes(is_quick, true, true, true);
}

expert_gemm_args gemm_args_of(const shape &its) {
    expert_gemm_args args = {};
    args.groups = order_job::sizes_of(its);
    args.top_k = to_int(its.chosen);
    args.n = to_int(its.width);
    args.k = to_int(its.depth);
    return args;
}

const char *refuse_gemm(const shape &its) {
    const char *refusal = refuse_order(its);
    if (refusal != nullptr) {
        return refusal;
    }
    bf16 somewhere = {};
    expert_gemm_args args = gemm_args_of(its);
    args.product = &somewhere;
    return expert_gemm_refusal(args);
}

kref_work gemm_work(const shape &its) {
    std::vector<int32_t> counts = counts_of(its);
    kref_expert_shape form = form_of(its, counts);
    return kref_expert_gemm_work(&form);
}

const char *gemm_on_cpu(const expert_gemm_args &args, void *) {
    kref_cpu_expert_product product = {};
    product.rows = plain(args.rows);
    product.weights = plain(args.weights);
    product.starts = plain(args.groups.starts);
    product.order = plain(args.groups.order);
    product.product = plain(args.product);
    product.pairs = args.groups.pairs;
    product.experts = args.groups.experts;
    product.top_k = args.top_k;
    product.n = args.n;
    product.k = args.k;
    return kref_cpu_expert_gemm(&product) ? nullptr : not_enough_memory;
}

/* The first run sorts the pairs, which later ones find done. */
class expert_gemm_job : public kernel_job<expert_gemm_args> {
  public:
    expert_gemm_job(const shape &its, backend &on)
        : kernel_job(on, {expert_gemm, gemm_on_cpu}), order_(its, on),
          rows_(on, count_of({its.rows, its.depth})),
          weights_(on, count_of({its.experts, its.width, its.depth})),
          product_(on, count_of({pairs_of(its), its.width})) {
        args_ = gemm_args_of(its);
        args_.rows = rows_.data();
        args_.weights = weights_.data();
        args_.groups = order_.groups();
        args_.product = product_.data();
    }

    const char *run(void *stream) override {
        const char *error = is_sorted_ ? nullptr : order_.run(stream);
        is_sorted_ = error == nullptr;
        return error == nullptr ? kernel_job::run(stream) : error;
    }

  private:
    order_job order_;
    filled<bf16> rows_;
    filled<bf16> weights_;
    array<bf16> product_;
    bool is_sorted_ = false;
};

/* ---- Sum ---- */

std::vector<shape> sum_shapes(bool is_quick) {
    std::vector<shape> all;
    if (is_quick) {
        all = all_shapes(true, false, true, false);
    } else {
        for (int64_t rows : {1, 16, 64, 256, 1024, 4096, 16384}) {
            for (int64_t width : {4096, 7168}) {
                shape its = shape_of(rows, SLI_NOT_MEASURED, 8, width, SLI_NOT_MEASURED);
                all.push_back(its);
            }
        }
    }
    return all;
}

expert_sum_args sum_args_of(const shape &its) {
    expert_sum_args args = {};
    args.tokens = to_int(its.rows);
    args.top_k = to_int(its.chosen);
    args.width = to_int(its.width);
    return args;
}

const char *refuse_sum(const shape &its) {
    const char *refusal = pairs_refusal(its);
    if (refusal != nullptr) {
        return refusal;
    }
    bf16 somewhere = {};
    expert_sum_args args = sum_args_of(its);
    args.sums = &somewhere;
    return expert_sum_refusal(args);
}

kref_work sum_work(const shape &its) {
    return kref_expert_sum_work(its.rows, its.chosen, its.width, sizeof(bf16));
}

const char *sum_on_cpu(const expert_sum_args &args, void *) {
    kref_cpu_expert_sum(plain(args.rows), plain(args.places), plain(args.weights), plain(args.sums),
                        args.tokens, args.top_k, args.width);
    return nullptr;
}

class expert_sum_job : public kernel_job<expert_sum_args> {
  public:
    expert_sum_job(const shape &its, backend &on)
        : kernel_job(on, {expert_sum, sum_on_cpu}), rows_(on, count_of({pairs_of(its), its.width})),
          places_(on, scattered(pairs_of(its))), weights_(on, pairs_of(its)),
          sums_(on, count_of({its.rows, its.width})) {
        args_ = sum_args_of(its);
        args_.rows = rows_.data();
        args_.places = places_.data();
        args_.weights = weights_.data();
        args_.sums = sums_.data();
    }

  private:
    filled<bf16> rows_;
    array<int32_t> places_;
    filled<float> weights_;
    array<bf16> sums_;
};

template <typename Job> std::unique_ptr<job> prepare(const shape &its, backend &on) {
    return std::make_unique<Job>(its, on);
}

} // namespace

extern const kernel router_kernel;
const kernel router_kernel = {
    "router",
    "which experts a token goes to",
    "element rows experts chosen",
    "cpu cuda",
    false,
    router_shapes,
    refuse_router,
    router_work,
    prepare<router_job>,
};

extern const kernel expert_order_kernel;
const kernel expert_order_kernel = {
    "expert_order",
    "tokens sorted by expert",
    "element rows experts chosen",
    "cpu cuda",
    false,
    order_shapes,
    refuse_order,
    order_work,
    prepare<order_job>,
};

extern const kernel expert_gemm_kernel;
const kernel expert_gemm_kernel = {
    "expert_gemm",
    "the product of each expert with its rows",
    "element rows width depth experts chosen",
    "cpu cuda",
    true,
    gemm_shapes,
    refuse_gemm,
    gemm_work,
    prepare<expert_gemm_job>,
};

extern const kernel expert_sum_kernel;
const kernel expert_sum_kernel = {
    "expert_sum",
    "the weighted sum of what the experts of a token say",
    "element rows width chosen",
    "cpu cuda",
    false,
    sum_shapes,
    refuse_sum,
    sum_work,
    prepare<expert_sum_job>,
};

} // namespace kref::bench
