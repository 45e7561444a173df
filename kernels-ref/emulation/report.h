/*
 * What went wrong in a run, in words: kernel, block, thread, operation, file and line.
 *
 * For the files of the emulation alone. Takes no memory, because it is written on the stack of a
 * fiber that is never unwound.
 */
#ifndef KREF_EMULATION_REPORT_H
#define KREF_EMULATION_REPORT_H

#include "emulation/thread.h"

namespace kref::emulation {

struct report {
    char text[2000];

    bool is_empty() const;
    void add(const char *format, ...) __attribute__((format(printf, 2, 3))); /* cut if too long */
};

/* The file without its folders. */
const char *base_name(const char *file);

void describe_fault(const char *kernel, const thread &self, place where, const char *text,
                    report *out);

/* Nobody can go on: how many wait at each place, and for whom. */
void describe_deadlock(const char *kernel, const thread *const *waiting, unsigned count,
                       report *out);

} // namespace kref::emulation

#endif
