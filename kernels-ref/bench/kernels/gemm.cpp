#include "cuda/gemm.h"

#include "bench/array.h"
#include "bench/cpu/gemm.h"
#include "bench/kernel.h"
#include "bench/kernel_job.h"
#include "cuda/library_gemm.h"

#include <cstring>

namespace kref::bench {

namespace {

shape shape_of(int64_t rows, int64_t width, int64_t depth, const char *element) {
    shape its = sli_no_measurement;
    its.element = element;
    its.rows = rows;
    its.width = width;
    its.depth = depth;
    return its;
}

std::vector<shape> shapes(bool is_quick) {
    if (is_quick) {
        return {shape_of(8, 256, 256, "bf16"), shape_of(40, 128, 512, "e4m3")};
    }
    /* Width and depth of the products of Llama 3.1 8B: queries with keys and values, output, gate
     * with up, down, head. */
    struct layer {
        int64_t width;
        int64_t depth;
    };
    constexpr layer layers[] = {
        {6144, 4096}, {4096, 4096}, {28672, 4096}, {4096, 14336}, {128256, 4096}};
    std::vector<shape> all;
    for (const char *element : {"bf16", "e4m3"}) {
        for (const layer &of : layers) {
            for (int64_t rows : {1, 16, 64, 128, 256, 1024, 2048, 8192}) {
                all.push_back(shape_of(rows, of.width, of.depth, element));
            }
        }
    }
    return all;
}

bool is_bf16(const shape &its) {
    return strcmp(its.element, "bf16") == 0;
}

template <typename Element> gemm_args<Element> args_of(const shape &its) {
    gemm_args<Element> args = {};
    args.m = to_int(its.rows);
    args.n = to_int(its.width);
    args.k = to_int(its.depth);
    args.scale = 1.0F / std::sqrt(static_cast<float>(its.depth));
    return args;
}

const char *refusal(const shape &its) {
    if (is_bf16(its)) {
        bf16 somewhere = {};
        gemm_args<bf16> args = args_of<bf16>(its);
        args.product = &somewhere;
        return gemm_refusal(args);
    }
    if (strcmp(its.element, "e4m3") == 0) {
        bf16 somewhere = {};
        gemm_args<e4m3> args = args_of<e4m3>(its);
        args.product = &somewhere;
        return gemm_refusal(args);
    }
    return "gemm: element must be bf16 or e4m3";
}

kref_work work(const shape &its) {
    kref_gemm_shape form = {its.rows, its.width, its.depth, is_bf16(its) ? 2 : 1, sizeof(bf16)};
    return kref_gemm_work(&form);
}

template <typename Element> class operands {
  public:
    operands(const shape &its, backend &on)
        : left_(on, count_of({its.rows, its.depth})), right_(on, count_of({its.width, its.depth})),
          product_(on, count_of({its.rows, its.width})), args_(args_of<Element>(its)) {
        args_.left = left_.data();
        args_.right = right_.data();
        args_.product = product_.data();
    }

    const gemm_args<Element> &args() const {
        return args_;
    }

  private:
    filled<Element> left_;
    filled<Element> right_;
    array<bf16> product_;
    gemm_args<Element> args_;
};

template <typename Element> const char *gemm_on_cpu(const gemm_args<Element> &args, void *) {
    kref_cpu_product product = {};
    product.left = args.left.address(0);
    product.right = args.right.address(0);
    product.product = plain(args.product);
    product.element_bytes = sizeof(Element);
    product.m = args.m;
    product.n = args.n;
    product.k = args.k;
    product.scale = args.scale;
    return kref_cpu_gemm(&product) ? nullptr : not_enough_memory;
}

template <typename Element> class gemm_job : public kernel_job<gemm_args<Element>> {
  public:
    gemm_job(const shape &its, backend &on)
        : kernel_job<gemm_args<Element>>(on, {gemm, gemm_on_cpu}), operands_(its, on) {
        this->args_ = operands_.args();
    }

  private:
    operands<Element> operands_;
};

template <typename Element> class library_gemm_job : public job {
  public:
    library_gemm_job(const shape &its, backend &on) : operands_(its, on) {
    }

    const char *run(void *stream) override {
        if (!is_prepared_) {
            const char *error = library_.prepare(operands_.args());
            if (error != nullptr) {
                return error;
            }
            is_prepared_ = true;
        }
        return library_.run(operands_.args(), stream);
    }

  private:
    operands<Element> operands_;
    library_gemm library_;
    bool is_prepared_ = false;
};

std::unique_ptr<job> prepare(const shape &its, backend &on) {
    if (is_bf16(its)) {
        return std::make_unique<gemm_job<bf16>>(its, on);
    }
    return std::make_unique<gemm_job<e4m3>>(its, on);
}

std::unique_ptr<job> prepare_library(const shape &its, backend &on) {
    if (is_bf16(its)) {
        return std::make_unique<library_gemm_job<bf16>>(its, on);
    }
    return std::make_unique<library_gemm_job<e4m3>>(its, on);
}

} // namespace

extern const kernel gemm_kernel;
const kernel gemm_kernel = {
    "gemm",
    "a matrix product by this house's kernel",
    "element rows width depth",
    "cpu cuda",
    true,
    shapes,
    refusal,
    work,
    prepare,
};

extern const kernel library_gemm_kernel;
const kernel library_gemm_kernel = {
    "library_gemm",
    "the same by cuBLASLt",
    "element rows width depth",
    "cuda",
    true,
    shapes,
    refusal,
    work,
    prepare_library,
};

} // namespace kref::bench
