#include "bench/peers_backend.h"

#if defined(KREF_ON_DEVICE)

#include "bench/cuda_backend.h"

#include <cuda_runtime_api.h>

namespace kref::bench {

namespace {

const char *text_of(cudaError_t error) {
    return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

/* The clock and the name of one; the peaks of one say nothing about links. */
identity look_at_devices(int devices) {
    identity who = look_at_device();
    who.device = std::to_string(devices) + " x " + who.device;
    who.peak_bytes_per_s = NAN;
    who.peak_bf16_flops_per_s = NAN;
    who.peak_e4m3_flops_per_s = NAN;
    return who;
}

/* Whether the device in use may reach another one's memory. */
const char *enable_peer(int device, int other) {
    int is_possible = 0;
    cudaError_t error = cudaDeviceCanAccessPeer(&is_possible, device, other);
    if (error == cudaSuccess && is_possible == 0) {
        return "the devices do not reach each other's memory";
    }
    return text_of(error != cudaSuccess ? error : cudaDeviceEnablePeerAccess(other, 0));
}

} // namespace

peers_backend::peers_backend(const char *name, const identity &who, int devices)
    : host_backend(who), name_(name), devices_(devices) {
}

peers_backend::~peers_backend() {
    for (void *event : events_) {
        cudaEventDestroy(static_cast<cudaEvent_t>(event));
    }
    for (void *stream : streams_) {
        cudaStreamDestroy(static_cast<cudaStream_t>(stream));
    }
}

const char *peers_backend::open() {
    bool needs_reach = std::string(name_) == "peers";
    const char *error = nullptr;
    for (int device = 0; device < devices_ && error == nullptr; device++) {
        cudaStream_t stream = nullptr;
        cudaEvent_t event = nullptr;
        use(device);
        error = text_of(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        streams_.push_back(stream);
        if (error == nullptr) {
            error = text_of(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
        }
        events_.push_back(event);
        for (int other = 0; other < devices_ && error == nullptr && needs_reach; other++) {
            error = other != device ? enable_peer(device, other) : nullptr;
        }
    }
    return error;
}

void *peers_backend::allocate_at(int device, size_t bytes) {
    void *memory = nullptr;
    use(device);
    if (cudaMalloc(&memory, bytes) != cudaSuccess) {
        cudaGetLastError(); /* forget it: nothing is broken */
        note_trouble(not_enough_memory);
        return nullptr;
    }
    if (cudaMemset(memory, 0, bytes) != cudaSuccess) {
        note_trouble("a device does not take data");
    }
    return memory;
}

void peers_backend::release_at(void *memory) {
    cudaFree(memory);
}

void peers_backend::use(int device) {
    cudaSetDevice(device);
}

const char *peers_backend::meet(int ranks) {
    cudaError_t error = cudaSuccess;
    for (int rank = 0; rank < ranks && error == cudaSuccess; rank++) {
        use(rank);
        error = cudaEventRecord(static_cast<cudaEvent_t>(events_[static_cast<size_t>(rank)]),
                                static_cast<cudaStream_t>(stream(rank)));
    }
    for (int rank = 0; rank < ranks; rank++) {
        use(rank);
        for (int other = 0; other < ranks && error == cudaSuccess; other++) {
            error = cudaStreamWaitEvent(
                static_cast<cudaStream_t>(stream(rank)),
                static_cast<cudaEvent_t>(events_[static_cast<size_t>(other)]), 0);
        }
    }
    return text_of(error);
}

const char *peers_backend::wait(int ranks) {
    cudaError_t error = cudaSuccess;
    for (int rank = 0; rank < ranks && error == cudaSuccess; rank++) {
        error = cudaStreamSynchronize(static_cast<cudaStream_t>(stream(rank)));
    }
    return text_of(error);
}

void peers_backend::note_lack_of_devices() {
    note_trouble(not_enough_devices);
}

std::unique_ptr<backend> open_peers(const std::string &name, std::string *error) {
#if !defined(KREF_NCCL)
    if (name == "nccl") {
        *error = "this program was built without NCCL";
        return nullptr;
    }
#endif
    int devices = 0;
    cudaError_t found = cudaGetDeviceCount(&devices);
    if (found != cudaSuccess || devices < 2) {
        *error = "a collective needs two CUDA devices: ";
        *error += found != cudaSuccess ? cudaGetErrorString(found) : "there is one";
        return nullptr;
    }
    auto opened = std::make_unique<peers_backend>(name == "nccl" ? "nccl" : "peers",
                                                  look_at_devices(devices), devices);
    const char *trouble = opened->open();
    if (trouble != nullptr) {
        *error = std::string("the CUDA devices cannot be used together: ") + trouble;
        return nullptr;
    }
    return opened;
}

} // namespace kref::bench

#else

namespace kref::bench {

std::unique_ptr<backend> open_peers(const std::string &, std::string *error) {
    *error = "a collective needs two CUDA devices: this program was built without nvcc";
    return nullptr;
}

} // namespace kref::bench

#endif
