#include "emulation/report.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace kref::emulation {

bool report::is_empty() const {
    return text[0] == '\0';
}

void report::add(const char *format, ...) {
    size_t used = strlen(text);
    va_list values;
    va_start(values, format);
    vsnprintf(text + used, sizeof text - used, format, values);
    va_end(values);
}

const char *base_name(const char *file) {
    const char *slash = strrchr(file, '/');
    return slash != nullptr ? slash + 1 : file;
}

void describe_fault(const char *kernel, const thread &self, place where, const char *text,
                    report *out) {
    const dim3 &block = self.where.block;
    const dim3 &thread = self.where.thread;
    out->add("%s: %s:%d: %s in block (%u, %u, %u), thread (%u, %u, %u): %s", kernel,
             base_name(where.file), where.line, where.what, block.x, block.y, block.z, thread.x,
             thread.y, thread.z, text);
}

namespace {

bool waits_alike(const thread &left, const thread &right) {
    return left.now == right.now && left.waits_at == right.waits_at &&
           (left.now != state::in_meeting || left.published.mask == right.published.mask);
}

bool is_first_of_its_kind(const thread *const *waiting, unsigned at) {
    for (unsigned earlier = 0; earlier < at; earlier++) {
        if (waits_alike(*waiting[earlier], *waiting[at])) {
            return false;
        }
    }
    return true;
}

void describe_kind(const thread *const *waiting, unsigned count, unsigned first, report *out) {
    const thread &it = *waiting[first];
    unsigned alike = 0;
    for (unsigned i = first; i < count; i++) {
        alike += waits_alike(it, *waiting[i]) ? 1 : 0;
    }
    out->add("; %u wait at %s:%d in %s", alike, base_name(it.waits_at.file), it.waits_at.line,
             it.waits_at.what);
    if (it.now == state::in_meeting) {
        out->add(" with mask %08x", it.published.mask);
    }
    out->add(", first of them thread (%u, %u, %u)", it.where.thread.x, it.where.thread.y,
             it.where.thread.z);
}

} // namespace

void describe_deadlock(const char *kernel, const thread *const *waiting, unsigned count,
                       report *out) {
    const dim3 &block = waiting[0]->where.block;
    out->add("%s: deadlock in block (%u, %u, %u)", kernel, block.x, block.y, block.z);
    for (unsigned i = 0; i < count; i++) {
        if (is_first_of_its_kind(waiting, i)) {
            describe_kind(waiting, count, i, out);
        }
    }
}

} // namespace kref::emulation
