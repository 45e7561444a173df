#include "cuda/library_gemm.h"

/* The build says whether there is a library to link with. */
#if defined(__CUDACC__) && defined(KREF_CUBLASLT)

#include <cublasLt.h>
#include <cuda_runtime.h>

namespace kref {

struct library_gemm::plan {
    cublasLtHandle_t library = nullptr;
    cublasLtMatmulDesc_t operation = nullptr;
    cublasLtMatrixLayout_t left = nullptr;
    cublasLtMatrixLayout_t right = nullptr;
    cublasLtMatrixLayout_t product = nullptr;
    cublasLtMatmulPreference_t preference = nullptr;
    cublasLtMatmulHeuristicResult_t found = {};
    void *workspace = nullptr;
};

namespace {

constexpr size_t WORKSPACE_BYTES = size_t{32} * 1024 * 1024;

/* The status of the first call that failed. */
class calls {
  public:
    calls &operator<<(cublasStatus_t status) {
        if (status_ == CUBLAS_STATUS_SUCCESS) {
            status_ = status;
        }
        return *this;
    }
    const char *error() const {
        return status_ == CUBLAS_STATUS_SUCCESS ? nullptr : cublasLtGetStatusString(status_);
    }

  private:
    cublasStatus_t status_ = CUBLAS_STATUS_SUCCESS;
};

template <typename Element> constexpr cudaDataType_t TYPE = CUDA_R_16BF;
template <> constexpr cudaDataType_t TYPE<e4m3> = CUDA_R_8F_E4M3;

template <typename Value>
cublasStatus_t set(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t what,
                   Value value) {
    return cublasLtMatmulDescSetAttribute(operation, what, &value, sizeof value);
}

/* The library stores matrices by columns: what is [m][k] to us is k x m to it. So it computes the
 * transposed product, n x m = (k x n)^T (k x m). */
template <typename Plan, typename Element>
const char *describe(Plan *it, const gemm_args<Element> &args) {
    auto m = static_cast<uint64_t>(args.m);
    auto n = static_cast<uint64_t>(args.n);
    auto k = static_cast<uint64_t>(args.k);
    cudaDataType_t output = args.product.is_null() ? CUDA_R_32F : CUDA_R_16BF;
    calls all;
    all << cublasLtCreate(&it->library);
    all << cublasLtMatmulDescCreate(&it->operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    all << cublasLtMatrixLayoutCreate(&it->right, TYPE<Element>, k, n, args.k);
    all << cublasLtMatrixLayoutCreate(&it->left, TYPE<Element>, k, m, args.k);
    all << cublasLtMatrixLayoutCreate(&it->product, output, n, m, args.n);
    all << cublasLtMatmulPreferenceCreate(&it->preference);
    if (all.error() != nullptr) {
        return all.error();
    }
    all << set(it->operation, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
    all << set(it->operation, CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N);
    all << cublasLtMatmulPreferenceSetAttribute(it->preference,
                                                CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                &WORKSPACE_BYTES, sizeof WORKSPACE_BYTES);
    int count = 0;
    all << cublasLtMatmulAlgoGetHeuristic(it->library, it->operation, it->right, it->left,
                                          it->product, it->product, it->preference, 1, &it->found,
                                          &count);
    if (all.error() == nullptr && count == 0) {
        return "library_gemm: cuBLASLt knows no algorithm for this shape";
    }
    return all.error();
}

template <typename Handle> void destroy(cublasStatus_t (*its)(Handle), Handle handle) {
    if (handle != nullptr) {
        its(handle);
    }
}

template <typename Plan> void release(Plan *it) {
    destroy(cublasLtMatmulPreferenceDestroy, it->preference);
    destroy(cublasLtMatrixLayoutDestroy, it->product);
    destroy(cublasLtMatrixLayoutDestroy, it->right);
    destroy(cublasLtMatrixLayoutDestroy, it->left);
    destroy(cublasLtMatmulDescDestroy, it->operation);
    destroy(cublasLtDestroy, it->library);
    cudaFree(it->workspace);
    delete it;
}

template <typename Plan, typename Element>
const char *make_plan(Plan **made, const gemm_args<Element> &args) {
    const char *error = gemm_refusal(args);
    if (error != nullptr || args.m == 0) {
        return error;
    }
    auto *it = new Plan;
    cudaError_t memory = cudaMalloc(&it->workspace, WORKSPACE_BYTES);
    error = memory == cudaSuccess ? describe(it, args) : cudaGetErrorString(memory);
    if (error != nullptr) {
        release(it);
        return error;
    }
    *made = it;
    return nullptr;
}

template <typename Plan, typename Element>
const char *run_plan(const Plan *it, const gemm_args<Element> &args, void *stream) {
    if (args.m == 0) {
        return nullptr;
    }
    if (it == nullptr) {
        return "library_gemm: run without having been prepared";
    }
    const float none = 0.0F;
    void *product = args.product.address(0);
    if (args.product.is_null()) {
        product = args.exact_product.address(0);
    }
    calls all;
    all << cublasLtMatmul(it->library, it->operation, &args.scale, args.right.address(0), it->right,
                          args.left.address(0), it->left, &none, product, it->product, product,
                          it->product, &it->found.algo, it->workspace, WORKSPACE_BYTES,
                          static_cast<cudaStream_t>(stream));
    return all.error();
}

} // namespace

library_gemm::~library_gemm() {
    if (plan_ != nullptr) {
        release(plan_);
    }
}

const char *library_gemm::prepare(const gemm_args<bf16> &args) {
    return make_plan(&plan_, args);
}

const char *library_gemm::prepare(const gemm_args<e4m3> &args) {
    return make_plan(&plan_, args);
}

const char *library_gemm::run(const gemm_args<bf16> &args, void *stream) const {
    return run_plan(plan_, args, stream);
}

const char *library_gemm::run(const gemm_args<e4m3> &args, void *stream) const {
    return run_plan(plan_, args, stream);
}

} // namespace kref

#else

namespace kref {

namespace {

const char *const absent = "library_gemm: built without cuBLASLt";

} // namespace

struct library_gemm::plan {};

library_gemm::~library_gemm() {
    delete plan_;
}

const char *library_gemm::prepare(const gemm_args<bf16> &) {
    return absent;
}

const char *library_gemm::prepare(const gemm_args<e4m3> &) {
    return absent;
}

const char *library_gemm::run(const gemm_args<bf16> &, void *) const {
    return absent;
}

const char *library_gemm::run(const gemm_args<e4m3> &, void *) const {
    return absent;
}

} // namespace kref

#endif
