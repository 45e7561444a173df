#include "emulation/count.h"

#include "emulation/machine.h"

#include <unordered_set>

namespace kref::emulation {

tally counted;

namespace {

std::unordered_set<uint64_t> read_sectors;
std::unordered_set<uint64_t> written_sectors;

} // namespace

void reset_tally() {
    counted = tally{};
    read_sectors.clear();
    written_sectors.clear();
}

tally take_tally() {
    counted.read_sectors = read_sectors.size();
    counted.written_sectors = written_sectors.size();
    return counted;
}

bool notes_sectors() {
    return current_settings().has_sectors;
}

void note_sectors(const void *address, uint64_t bytes, bool is_write) {
    auto first = reinterpret_cast<uintptr_t>(address);
    for (uint64_t at = first / sector_bytes; at <= (first + bytes - 1) / sector_bytes; at++) {
        (is_write ? written_sectors : read_sectors).insert(at);
    }
}

void count_copied(const void *address, int bytes) {
    counted.copied_bytes += static_cast<uint64_t>(bytes);
    if (bytes > 0 && notes_sectors()) {
        note_sectors(address, static_cast<uint64_t>(bytes), false);
    }
}

} // namespace kref::emulation
