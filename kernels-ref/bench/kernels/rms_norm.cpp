#include "cuda/rms_norm.h"

#include "bench/array.h"
#include "bench/cpu/elementwise.h"
#include "bench/kernel.h"
#include "bench/kernel_job.h"

#include <cstring>

namespace kref::bench {

namespace {

constexpr float EPSILON = 1e-6F;

bool has_update(const shape &its) {
    return strcmp(its.variant, "update") == 0;
}

shape shape_of(int64_t rows, int64_t width, const char *variant) {
    shape its = sli_no_measurement;
    its.variant = variant;
    its.element = "bf16";
    its.rows = rows;
    its.width = width;
    return its;
}

std::vector<shape> shapes(bool is_quick) {
    if (is_quick) {
        return {shape_of(64, 1024, "update"), shape_of(64, 1024, "plain")};
    }
    std::vector<shape> all;
    for (int64_t width : {4096, 8192}) {
        for (int64_t rows : {1, 16, 64, 256, 1024, 2048, 8192}) {
            all.push_back(shape_of(rows, width, "update"));
        }
    }
    all.push_back(shape_of(65536, 128, "plain")); /* heads of queries and keys */
    return all;
}

rms_norm_args args_of(const shape &its) {
    rms_norm_args args = {};
    args.rows = to_int(its.rows);
    args.width = to_int(its.width);
    args.epsilon = EPSILON;
    return args;
}

const char *refusal(const shape &its) {
    if (!has_update(its) && strcmp(its.variant, "plain") != 0) {
        return "rms_norm: variant must be update or plain";
    }
    return rms_norm_refusal(args_of(its));
}

kref_work work(const shape &its) {
    return kref_rms_norm_work(its.rows, its.width, has_update(its));
}

const char *norm_on_cpu(const rms_norm_args &args, void *) {
    kref_cpu_norm norm = {};
    norm.stream = plain(args.stream);
    norm.update = plain(args.update);
    norm.weight = plain(args.weight);
    norm.normed = plain(args.normed);
    norm.rows = args.rows;
    norm.width = args.width;
    norm.epsilon = args.epsilon;
    kref_cpu_rms_norm(&norm);
    return nullptr;
}

class rms_norm_job : public kernel_job<rms_norm_args> {
  public:
    rms_norm_job(const shape &its, backend &on)
        : kernel_job(on, {rms_norm, norm_on_cpu}), stream_(on, count_of({its.rows, its.width})),
          update_(on, has_update(its) ? count_of({its.rows, its.width}) : 0),
          weight_(on, its.width), normed_(on, count_of({its.rows, its.width})) {
        args_ = args_of(its);
        args_.stream = stream_.data();
        args_.update = has_update(its) ? update_.data() : nullptr;
        args_.weight = weight_.data();
        args_.normed = normed_.data();
    }

  private:
    /* The update is 0, so that what is added up in thousands of runs stays a number. */
    filled<bf16> stream_;
    array<bf16> update_;
    filled<bf16> weight_;
    array<bf16> normed_;
};

std::unique_ptr<job> prepare(const shape &its, backend &on) {
    return std::make_unique<rms_norm_job>(its, on);
}

} // namespace

extern const kernel rms_norm_kernel;
const kernel rms_norm_kernel = {
    "rms_norm",
    "RMSNorm behind a residual addition",
    "variant element rows width",
    "cpu cuda",
    false,
    shapes,
    refusal,
    work,
    prepare,
};

} // namespace kref::bench
