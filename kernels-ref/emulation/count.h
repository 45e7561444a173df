/*
 * Counts what the kernels execute: FLOPs, special functions, bytes of global memory.
 *
 * An addition, multiplication, division, comparison or maximum of two floats is one FLOP, a fused
 * multiply-add two; exponentials, roots and the like are counted apart, because other units of a
 * device compute them. Matrix instructions count the whole tile, what is padding too. Bytes are
 * those that were asked for; a sector is 32 bytes of memory that was read or written at all,
 * counted once a run of a kernel or several, if the settings ask for it.
 *
 * The float of a kernel (f32 in cuda/kref.h) is counted_float where KREF_COUNTS is defined, and a
 * plain float elsewhere. Knows no kernel. Not for several threads.
 */
#ifndef KREF_EMULATION_COUNT_H
#define KREF_EMULATION_COUNT_H

#include <cmath>
#include <cstdint>

namespace kref::emulation {

struct tally {
    uint64_t vector_flops;
    uint64_t matrix_flops;
    uint64_t specials;
    uint64_t loaded_bytes;
    uint64_t copied_bytes; /* by asynchronous copies into shared memory */
    uint64_t stored_bytes;
    uint64_t shared_bytes; /* of a block, the most that any of the runs has had */
    uint64_t read_sectors; /* loaded or copied */
    uint64_t written_sectors;
};

extern tally counted;

/* Sets everything to 0. */
void reset_tally();

/* The tally, the sectors with it. O(1). */
tally take_tally();

constexpr uint64_t sector_bytes = 32;

void note_sectors(const void *address, uint64_t bytes, bool is_write);
bool notes_sectors();

#if defined(KREF_COUNTS)
inline void count_loaded(const void *address, uint64_t bytes) {
    counted.loaded_bytes += bytes;
    if (notes_sectors()) {
        note_sectors(address, bytes, false);
    }
}

inline void count_stored(const void *address, uint64_t bytes) {
    counted.stored_bytes += bytes;
    if (notes_sectors()) {
        note_sectors(address, bytes, true);
    }
}
#else
inline void count_loaded(const void *, uint64_t) {
}

inline void count_stored(const void *, uint64_t) {
}
#endif

void count_copied(const void *address, int bytes);

/* A float whose operations are counted. */
struct counted_float {
    float value;

    counted_float() = default;
    constexpr counted_float(float plain) : value(plain) {
    }
    explicit operator float() const {
        return value;
    }

    counted_float &operator+=(counted_float other) {
        counted.vector_flops++;
        value += other.value;
        return *this;
    }
    counted_float &operator*=(counted_float other) {
        counted.vector_flops++;
        value *= other.value;
        return *this;
    }
};

inline counted_float flop(float result) {
    counted.vector_flops++;
    return {result};
}

inline counted_float special(float result) {
    counted.specials++;
    return {result};
}

inline counted_float operator+(counted_float left, counted_float right) {
    return flop(left.value + right.value);
}

inline counted_float operator-(counted_float left, counted_float right) {
    return flop(left.value - right.value);
}

inline counted_float operator*(counted_float left, counted_float right) {
    return flop(left.value * right.value);
}

inline counted_float operator/(counted_float left, counted_float right) {
    return flop(left.value / right.value);
}

/* A sign is no work: devices change it while they read an operand. */
inline counted_float operator-(counted_float it) {
    return {-it.value};
}

inline bool operator==(counted_float left, counted_float right) {
    counted.vector_flops++;
    return left.value == right.value;
}

inline bool operator>(counted_float left, counted_float right) {
    counted.vector_flops++;
    return left.value > right.value;
}

} // namespace kref::emulation

#endif
