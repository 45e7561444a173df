/*
 * Where in a kernel something happens.
 *
 * Two barriers on one source line are two places: each expansion of KREF_HERE has its own number.
 */
#ifndef KREF_EMULATION_PLACE_H
#define KREF_EMULATION_PLACE_H

namespace kref::emulation {

struct place {
    const char *what; /* the operation, as a kernel spells it */
    const char *file;
    int line;
    int number;
};

inline bool operator==(const place &left, const place &right) {
    return left.number == right.number && left.line == right.line && left.file == right.file;
}

} // namespace kref::emulation

/* A function's __FILE__ is one object in a program, so comparing addresses is enough. */
#define KREF_HERE(what)                                                                            \
    (kref::emulation::place{what, __FILE__, __LINE__, __COUNTER__}) /* NOLINT                      \
                                                                     */

#endif
