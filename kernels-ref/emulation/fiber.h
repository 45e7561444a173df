/*
 * A stack of its own, and the switch from one stack to another.
 *
 * On x86-64 the switch is a dozen instructions: a call of a function saves everything but six
 * registers and the stack pointer anyway. Elsewhere, or with KREF_UCONTEXT, swapcontext does it,
 * about a hundred times slower because it asks the kernel for the signal mask.
 *
 * Knows stacks and sanitizers, nothing of CUDA. All fibers of a program run on the one thread that
 * made them; nothing may be thrown across a switch. A guard page below each stack turns an overflow
 * into a crash at the place where it happens.
 */
#ifndef KREF_EMULATION_FIBER_H
#define KREF_EMULATION_FIBER_H

#include <cstddef>

#if !defined(__x86_64__) && !defined(KREF_UCONTEXT)
#define KREF_UCONTEXT
#endif
#if defined(KREF_UCONTEXT)
#include <ucontext.h>
#endif

namespace kref::emulation {

class fiber {
  public:
    /* Stands for the stack that the program is on already. */
    fiber() = default;
    ~fiber();
    fiber(const fiber &) = delete;
    fiber &operator=(const fiber &) = delete;

    /* Lets the next switch to this fiber call `entry`, which must not return. The stack is made at
     * the first start and used again by later ones, whatever became of the one before. */
    void start(void (*entry)());

    /* Goes on where `to` stands, and comes back when somebody switches to this one. */
    void switch_to(fiber &to);

    /* The same from a fiber whose work is done: nobody will switch to it before its next start. */
    [[noreturn]] void finish_into(fiber &to);

    /* For ThreadSanitizer: all that this fiber, which will not go on, has done so far happens
     * before what follows an acquire of `edge`. */
    void release_abandoned(void *edge);

  private:
    static void begin();
    void arrive(void *fake_stack);
    void leave(fiber &to, void **fake_stack);

    char *stack_ = nullptr; /* null for the program's own */
    size_t stack_bytes_ = 0;
    bool has_begun_ = false;
    void (*entry_)() = nullptr;
#if defined(KREF_UCONTEXT)
    ucontext_t context_ = {};
#else
    void *stack_pointer_ = nullptr;
#endif
#if defined(KREF_TSAN)
    void *tsan_fiber_ = nullptr;
#endif
};

} // namespace kref::emulation

#endif
