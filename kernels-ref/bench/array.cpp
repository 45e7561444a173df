#include "bench/array.h"

#include "cuda/number.h"

#include <numeric>

namespace kref::bench {

namespace {

/* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators", 2016. */
float signed_unit(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    uint64_t bits = *state * 0x2545f4914f6cdd1dULL;
    return static_cast<float>(static_cast<double>(bits >> 11) * 0x1p-52 - 1.0);
}

void put(unsigned char *to, size_t element_bytes, float value) {
    bf16 two = to_bf16(value);
    e4m3 one = to_e4m3(value);
    const void *from = element_bytes == sizeof two   ? static_cast<const void *>(&two)
                       : element_bytes == sizeof one ? static_cast<const void *>(&one)
                                                     : static_cast<const void *>(&value);
    memcpy(to, from, element_bytes);
}

} // namespace

int64_t far_step(int64_t count) {
    int64_t step = count * 6 / 10 + 1;
    while (std::gcd(step, count) > 1) {
        step++;
    }
    return step;
}

namespace {

constexpr int64_t STRETCH_ELEMENTS = 65536; /* made once, then repeated */

void copy_stretches(backend &on, void *to, int64_t count, const std::vector<unsigned char> &from,
                    size_t element_bytes) {
    for (int64_t at = 0; at < count; at += STRETCH_ELEMENTS) {
        int64_t elements = count - at < STRETCH_ELEMENTS ? count - at : STRETCH_ELEMENTS;
        on.copy_in(static_cast<unsigned char *>(to) + static_cast<size_t>(at) * element_bytes,
                   from.data(), static_cast<size_t>(elements) * element_bytes);
    }
}

} // namespace

void fill(backend &on, void *to, int64_t count, size_t element_bytes, float amplitude) {
    if (to == nullptr) {
        return;
    }
    std::vector<unsigned char> stretch(static_cast<size_t>(STRETCH_ELEMENTS) * element_bytes);
    uint64_t state = 0x9e3779b97f4a7c15ULL;
    for (size_t at = 0; at < stretch.size(); at += element_bytes) {
        put(&stretch[at], element_bytes, amplitude * signed_unit(&state));
    }
    copy_stretches(on, to, count, stretch, element_bytes);
}

void repeat(backend &on, void *to, int64_t count, const void *element, size_t element_bytes) {
    if (to == nullptr) {
        return;
    }
    std::vector<unsigned char> stretch(static_cast<size_t>(STRETCH_ELEMENTS) * element_bytes);
    for (size_t at = 0; at < stretch.size(); at += element_bytes) {
        memcpy(&stretch[at], element, element_bytes);
    }
    copy_stretches(on, to, count, stretch, element_bytes);
}

std::vector<int32_t> scattered(int64_t count) {
    return numbers(count, count, far_step(count));
}

std::vector<int32_t> starts_of_equals(int64_t count, int64_t length) {
    std::vector<int32_t> starts;
    for (int64_t i = 0; i <= count; i++) {
        starts.push_back(static_cast<int32_t>(i * length));
    }
    return starts;
}

std::vector<int32_t> numbers(int64_t count, int64_t limit, int64_t step) {
    std::vector<int32_t> all(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; i++) {
        all[static_cast<size_t>(i)] = static_cast<int32_t>(i % limit * step % limit);
    }
    return all;
}

} // namespace kref::bench
