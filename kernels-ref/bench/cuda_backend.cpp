#include "bench/cuda_backend.h"

#if defined(KREF_ON_DEVICE)

#include <cstdio>
#include <cstring>
#include <cuda_runtime_api.h>
#include <set>

namespace kref::bench {

namespace {

/* The first error of several calls. */
class calls {
  public:
    calls &operator<<(cudaError_t error) {
        error_ = error_ == cudaSuccess ? error : error_;
        return *this;
    }
    const char *error() const {
        return error_ == cudaSuccess ? nullptr : cudaGetErrorString(error_);
    }

  private:
    cudaError_t error_ = cudaSuccess;
};

int attribute(cudaDeviceAttr which) {
    int value = 0;
    return cudaDeviceGetAttribute(&value, which, 0) == cudaSuccess ? value : 0;
}

/* Dense bf16 FLOP of the matrix units of an SM in a clock: 312 TFLOP/s by 108 SM and 1.41 GHz of
 * A100, 989 by 132 and 1.83 of H100, 2250 by 148 and 1.85 of B200 (NVIDIA's white papers on these
 * architectures). 0 where nobody looked it up. */
double bf16_flops_a_clock(int architecture) {
    switch (architecture) {
    case 80:
        return 2048.0;
    case 90:
        return 4096.0;
    case 100:
        return 8192.0;
    default:
        return 0.0;
    }
}

/* fp8 runs at twice the rate of bf16 where there are instructions for it. */
void find_peaks(identity *who) {
    constexpr double hz_a_khz = 1e3;
    constexpr int bits_a_byte = 8;
    int architecture = attribute(cudaDevAttrComputeCapabilityMajor) * 10 +
                       attribute(cudaDevAttrComputeCapabilityMinor);
    double clock_hz = attribute(cudaDevAttrClockRate) * hz_a_khz;
    double flops = bf16_flops_a_clock(architecture) * attribute(cudaDevAttrMultiProcessorCount) *
                   clock_hz;
    double bytes = 2.0 * attribute(cudaDevAttrMemoryClockRate) * hz_a_khz *
                   attribute(cudaDevAttrGlobalMemoryBusWidth) / bits_a_byte;
    who->clock_hz = clock_hz > 0.0 ? clock_hz : NAN;
    who->peak_bytes_per_s = bytes > 0.0 ? bytes : NAN;
    who->peak_bf16_flops_per_s = flops > 0.0 ? flops : NAN;
    who->peak_e4m3_flops_per_s = architecture >= 90 ? 2.0 * who->peak_bf16_flops_per_s
                                                    : who->peak_bf16_flops_per_s;
}

std::string version_text(int version) {
    return "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/* As the kernel module says, else what CUDA says that it can do. */
std::string driver_text() {
    char line[256];
    char version[64] = "";
    FILE *file = fopen("/proc/driver/nvidia/version", "r");
    if (file != nullptr) {
        if (fgets(line, sizeof line, file) != nullptr) {
            const char *at = strstr(line, "  ");
            const char *digits = at != nullptr ? strpbrk(at, "0123456789") : nullptr;
            if (digits != nullptr) {
                snprintf(version, sizeof version, "%.*s", static_cast<int>(strcspn(digits, " \n")),
                         digits);
            }
        }
        fclose(file);
    }
    int offered = 0;
    cudaDriverGetVersion(&offered);
    return version[0] != '\0' ? version : version_text(offered);
}

} // namespace

identity look_at_device() {
    identity who;
    cudaDeviceProp properties = {};
    if (cudaGetDeviceProperties(&properties, 0) == cudaSuccess) {
        who.device = properties.name;
    }
    who.driver = driver_text();
    who.toolkit = version_text(CUDART_VERSION);
    find_peaks(&who);
    return who;
}

namespace {

class cuda_backend : public backend {
  public:
    cuda_backend() : backend(look_at_device()) {
    }
    ~cuda_backend() override {
        cudaFree(others_);
        cudaEventDestroy(begin_);
        cudaEventDestroy(end_);
        cudaStreamDestroy(stream_);
    }

    const char *open() {
        calls all;
        all << cudaSetDevice(0) << cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)
            << cudaEventCreate(&begin_) << cudaEventCreate(&end_);
        return all.error();
    }

    const char *name() const override {
        return "cuda";
    }
    bool is_cuda() const override {
        return true;
    }
    const char *launch(const sampling &how) const override {
        return how.is_graph ? "graph" : "stream";
    }
    const char *cache(const sampling &how) const override {
        return how.is_flushed ? "flushed" : "warm";
    }

    void *allocate(size_t bytes) override {
        void *memory = nullptr;
        if (cudaMalloc(&memory, bytes) != cudaSuccess) {
            cudaGetLastError(); /* forget it: nothing is broken */
            note_trouble(not_enough_memory);
            return nullptr;
        }
        if (cudaMemset(memory, 0, bytes) != cudaSuccess) {
            note_trouble("the device does not take data");
        }
        return memory;
    }

    void *allocate_on_host(size_t bytes) override {
        void *memory = nullptr;
        if (cudaMallocHost(&memory, bytes) != cudaSuccess) {
            cudaGetLastError();
            note_trouble(not_enough_memory);
            return nullptr;
        }
        memset(memory, 0, bytes);
        on_host_.insert(memory);
        return memory;
    }

    void release(void *memory) override {
        if (on_host_.erase(memory) > 0) {
            cudaFreeHost(memory);
        } else {
            cudaFree(memory);
        }
    }

    void copy_in(void *to, const void *from, size_t bytes) override {
        if (cudaMemcpy(to, from, bytes, cudaMemcpyDefault) != cudaSuccess) {
            note_trouble("the device does not take data");
        }
    }

    const char *sample(job &it, const sampling &how, std::vector<double> *times_ns) override {
        constexpr double ns_per_s = 1e9;
        constexpr double sample_ns = 2e5; /* events tick every 500 ns or so */
        times_ns->clear();
        double first_ns = 0.0; /* code is loaded, clocks rise */
        double call_ns = 0.0;
        const char *error = time_launches(it, 1, &first_ns);
        error = error == nullptr ? time_launches(it, 1, &call_ns) : error;
        if (error != nullptr) {
            return error;
        }
        int count = how.is_flushed ? 1 : calls_of(call_ns, sample_ns, 100);
        cudaGraphExec_t graph = nullptr;
        error = how.is_graph ? capture(it, count, &graph) : nullptr;
        double total_ns = 0.0;
        bool is_warm = false;
        while (error == nullptr && static_cast<int>(times_ns->size()) < how.samples &&
               (times_ns->empty() || total_ns < how.seconds * ns_per_s)) {
            double time_ns = 0.0;
            if (how.is_flushed) {
                error = flush();
            }
            if (error == nullptr) {
                error = graph != nullptr ? time_graph(graph, count, &time_ns)
                                         : time_launches(it, count, &time_ns);
            }
            if (is_warm) {
                times_ns->push_back(time_ns);
            }
            is_warm = true;
            total_ns += time_ns * count;
        }
        if (graph != nullptr) {
            cudaGraphExecDestroy(graph);
        }
        return error;
    }

  private:
    const char *capture(job &it, int count, cudaGraphExec_t *graph) {
        cudaGraph_t recorded = nullptr;
        calls all;
        all << cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal);
        if (all.error() != nullptr) {
            return all.error();
        }
        const char *error = nullptr;
        for (int i = 0; i < count && error == nullptr; i++) {
            error = it.run(stream_);
        }
        all << cudaStreamEndCapture(stream_, &recorded);
        if (error == nullptr && all.error() == nullptr) {
            all << cudaGraphInstantiateWithFlags(graph, recorded, 0);
        }
        if (recorded != nullptr) {
            cudaGraphDestroy(recorded);
        }
        return error != nullptr ? error : all.error();
    }

    /* Of one execution, from the events around `count` of them. */
    const char *read_events(calls *all, int count, double *time_ns) {
        constexpr double ns_a_ms = 1e6;
        float ms = 0.0F;
        *all << cudaEventRecord(end_, stream_) << cudaEventSynchronize(end_)
             << cudaEventElapsedTime(&ms, begin_, end_);
        *time_ns = std::fmax(static_cast<double>(ms) * ns_a_ms, 1.0) / count;
        return all->error();
    }

    const char *time_graph(cudaGraphExec_t graph, int count, double *time_ns) {
        calls all;
        all << cudaEventRecord(begin_, stream_) << cudaGraphLaunch(graph, stream_);
        return read_events(&all, count, time_ns);
    }

    const char *time_launches(job &it, int count, double *time_ns) {
        calls all;
        all << cudaEventRecord(begin_, stream_);
        for (int i = 0; i < count; i++) {
            const char *error = it.run(stream_);
            if (error != nullptr) {
                return error;
            }
        }
        return read_events(&all, count, time_ns);
    }

    const char *flush() {
        calls all;
        if (others_ == nullptr) {
            others_bytes_ = 2 * static_cast<size_t>(attribute(cudaDevAttrL2CacheSize));
            all << cudaMalloc(&others_, others_bytes_);
        }
        if (all.error() == nullptr) {
            all << cudaMemsetAsync(others_, 0, others_bytes_, stream_);
        }
        return all.error();
    }

    cudaStream_t stream_ = nullptr;
    cudaEvent_t begin_ = nullptr;
    cudaEvent_t end_ = nullptr;
    void *others_ = nullptr;
    size_t others_bytes_ = 0;
    std::set<void *> on_host_;
};

} // namespace

std::unique_ptr<backend> open_cuda(std::string *error) {
    int devices = 0;
    cudaError_t found = cudaGetDeviceCount(&devices);
    if (found != cudaSuccess || devices == 0) {
        *error = std::string("no CUDA device: ") +
                 (found != cudaSuccess ? cudaGetErrorString(found) : "none is visible");
        return nullptr;
    }
    auto opened = std::make_unique<cuda_backend>();
    const char *trouble = opened->open();
    if (trouble != nullptr) {
        *error = std::string("the CUDA device cannot be used: ") + trouble;
        return nullptr;
    }
    return opened;
}

} // namespace kref::bench

#else

namespace kref::bench {

std::unique_ptr<backend> open_cuda(std::string *error) {
    *error = "no CUDA device: this program was built without nvcc";
    return nullptr;
}

} // namespace kref::bench

#endif
