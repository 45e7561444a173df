#include "bench/host_backend.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/utsname.h>
#include <unistd.h>

namespace kref::bench {

namespace {

double now_ns() {
    auto since = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

size_t available_bytes() {
    constexpr size_t kib = 1024;
    std::string fact = read_fact("/proc/meminfo", "MemAvailable");
    if (!fact.empty()) {
        return strtoull(fact.c_str(), nullptr, 10) * kib;
    }
    return static_cast<size_t>(sysconf(_SC_AVPHYS_PAGES)) *
           static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

/* Of one execution of `count`. */
const char *time_calls(job &it, int count, double *time_ns) {
    const char *error = nullptr;
    double begin_ns = now_ns();
    for (int i = 0; i < count && error == nullptr; i++) {
        error = it.run(nullptr);
    }
    const char *unfinished = it.finish();
    *time_ns = std::max(now_ns() - begin_ns, 1.0) / count;
    return error != nullptr ? error : unfinished;
}

} // namespace

host_backend::host_backend(const identity &who) : backend(who), free_bytes_(available_bytes()) {
}

void *host_backend::allocate(size_t bytes) {
    constexpr size_t alignment = 4096; /* pages, as O_DIRECT asks for */
    void *memory = nullptr;
    if (bytes > free_bytes_ || posix_memalign(&memory, alignment, bytes) != 0) {
        note_trouble(not_enough_memory);
        return nullptr;
    }
    memset(memory, 0, bytes); /* so that no page is brought in while the clock runs */
    sizes_[memory] = bytes;
    free_bytes_ -= bytes;
    return memory;
}

void host_backend::release(void *memory) {
    if (memory != nullptr) {
        free_bytes_ += sizes_[memory];
        sizes_.erase(memory);
        free(memory);
    }
}

void host_backend::copy_in(void *to, const void *from, size_t bytes) {
    memcpy(to, from, bytes);
}

const char *host_backend::sample(job &it, const sampling &how, std::vector<double> *times_ns) {
    constexpr double sample_ns = 2e4; /* the clock ticks every 20 to 50 ns */
    constexpr double ns_per_s = 1e9;
    times_ns->clear();
    double time_ns = 0.0;
    const char *error = time_calls(it, 1, &time_ns);
    if (error != nullptr) {
        return error;
    }
    if (time_ns > how.seconds * ns_per_s) {
        times_ns->push_back(time_ns); /* there is no time to warm up */
        return nullptr;
    }
    error = time_calls(it, 1, &time_ns);
    int count = how.is_flushed ? 1 : calls_of(time_ns, sample_ns, 1000);
    double end_ns = now_ns() + how.seconds * ns_per_s;
    do {
        if (how.is_flushed) {
            flush();
        }
        error = error == nullptr ? time_calls(it, count, &time_ns) : error;
        times_ns->push_back(time_ns);
    } while (error == nullptr && static_cast<int>(times_ns->size()) < how.samples &&
             now_ns() < end_ns);
    return error;
}

void host_backend::flush() {
    constexpr long unknown_cache_bytes = 64L * 1024 * 1024;
    if (others_.empty()) {
        long bytes = std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE));
        others_.resize(2 * static_cast<size_t>(bytes > 0 ? bytes : unknown_cache_bytes));
    }
    round_++;
    memset(others_.data(), round_, others_.size());
}

std::string read_fact(const char *path, const char *name) {
    std::string fact;
    FILE *file = fopen(path, "r");
    char line[512];
    while (file != nullptr && fact.empty() && fgets(line, sizeof line, file) != nullptr) {
        const char *colon = strchr(line, ':');
        if (colon != nullptr && strncmp(line, name, strlen(name)) == 0) {
            colon += 1 + strspn(colon + 1, " \t");
            fact.assign(colon, strcspn(colon, "\n"));
        }
    }
    if (file != nullptr) {
        fclose(file);
    }
    return fact;
}

std::string system_name() {
    utsname system = {};
    uname(&system);
    return std::string(system.sysname) + " " + system.release;
}

std::string compiler_name() {
#if defined(__clang__)
    std::string name = "clang " + std::to_string(__clang_major__) + "." +
                       std::to_string(__clang_minor__) + "." + std::to_string(__clang_patchlevel__);
#else
    std::string name = "gcc " + std::to_string(__GNUC__) + "." + std::to_string(__GNUC_MINOR__) +
                       "." + std::to_string(__GNUC_PATCHLEVEL__);
#endif
    return name + KREF_CPU_FLAGS;
}

} // namespace kref::bench
