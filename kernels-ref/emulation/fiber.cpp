#include "emulation/fiber.h"

#include "emulation/sanitizer.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>

#if !defined(KREF_UCONTEXT)
/* kref_switch_stack(where to save the stack pointer, the one to go on with) */
asm(R"(
    .text
    .p2align 4
    .hidden kref_switch_stack
    .globl kref_switch_stack
    .type kref_switch_stack, @function
kref_switch_stack:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size kref_switch_stack, .-kref_switch_stack
)");
extern "C" void kref_switch_stack(void **saved, void *next);
#endif

namespace kref::emulation {

namespace {

/* Sanitizers make frames several times larger. */
#if defined(__SANITIZE_ADDRESS__) || defined(KREF_TSAN)
constexpr size_t usable_bytes = size_t{512} * 1024;
#else
constexpr size_t usable_bytes = size_t{128} * 1024;
#endif
constexpr size_t guard_bytes = 4096;

fiber *arriving = nullptr; /* the fiber that a switch leads to */

#if defined(__SANITIZE_ADDRESS__)
/* Where the stack of the program is: the sanitizer tells at the first switch away from it. */
const void *program_stack = nullptr;
size_t program_stack_bytes = 0;
#endif

char *map_stack() {
    size_t bytes = usable_bytes + guard_bytes;
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, guard_bytes, PROT_NONE) != 0) {
        perror("no memory for the stack of a fiber");
        abort();
    }
    return static_cast<char *>(memory);
}

} // namespace

fiber::~fiber() {
#if defined(KREF_TSAN)
    if (stack_ != nullptr && tsan_fiber_ != nullptr) {
        __tsan_destroy_fiber(tsan_fiber_);
    }
#endif
    if (stack_ != nullptr) {
        munmap(stack_, stack_bytes_);
    }
}

void fiber::start(void (*entry)()) {
    if (stack_ == nullptr) {
        stack_ = map_stack();
        stack_bytes_ = usable_bytes + guard_bytes;
    }
    permit(stack_ + guard_bytes, usable_bytes);
#if defined(KREF_TSAN)
    /* Making one is dear, so a fiber keeps its own; only one that was abandoned in the middle of
     * its work has calls on record that will never return. */
    if (tsan_fiber_ != nullptr && has_begun_) {
        __tsan_destroy_fiber(tsan_fiber_);
        tsan_fiber_ = nullptr;
    }
    if (tsan_fiber_ == nullptr) {
        tsan_fiber_ = __tsan_create_fiber(0);
    }
#endif
    has_begun_ = false;
    entry_ = entry;
#if defined(KREF_UCONTEXT)
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack_ + guard_bytes;
    context_.uc_stack.ss_size = usable_bytes;
    context_.uc_link = nullptr;
    makecontext(&context_, begin, 0);
#else
    /* As if address 0 had called begin(): the stack was aligned to 16 bytes before that. */
    auto *top = reinterpret_cast<uintptr_t *>(stack_ + stack_bytes_);
    *--top = 0;
    *--top = reinterpret_cast<uintptr_t>(&begin);
    for (int saved_register = 0; saved_register < 6; saved_register++) {
        *--top = 0;
    }
    stack_pointer_ = top;
#endif
}

void fiber::begin() {
    fiber *self = arriving;
    self->arrive(nullptr);
    self->has_begun_ = true;
    self->entry_();
    abort(); /* entries do not return */
}

/* The other stack has been left, this one is in use. */
void fiber::arrive([[maybe_unused]] void *fake_stack) {
#if defined(__SANITIZE_ADDRESS__)
    const void *left = nullptr;
    size_t left_bytes = 0;
    __sanitizer_finish_switch_fiber(fake_stack, &left, &left_bytes);
    if (program_stack == nullptr) {
        program_stack = left;
        program_stack_bytes = left_bytes;
    }
#endif
}

void fiber::leave(fiber &to, [[maybe_unused]] void **fake_stack) {
#if defined(__SANITIZE_ADDRESS__)
    const void *bottom = to.stack_ != nullptr ? to.stack_ + guard_bytes : program_stack;
    size_t bytes = to.stack_ != nullptr ? usable_bytes : program_stack_bytes;
    __sanitizer_start_switch_fiber(fake_stack, bottom, bytes);
#endif
#if defined(KREF_TSAN)
    if (stack_ == nullptr) {
        tsan_fiber_ = __tsan_get_current_fiber();
    }
    __tsan_switch_to_fiber(to.tsan_fiber_, __tsan_switch_to_fiber_no_sync);
#endif
    arriving = &to;
}

void fiber::switch_to(fiber &to) {
    void *fake_stack = nullptr;
    leave(to, &fake_stack);
#if defined(KREF_UCONTEXT)
    swapcontext(&context_, &to.context_);
#else
    kref_switch_stack(&stack_pointer_, to.stack_pointer_);
#endif
    arrive(fake_stack);
}

void fiber::release_abandoned([[maybe_unused]] void *edge) {
#if defined(KREF_TSAN)
    void *self = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(tsan_fiber_, __tsan_switch_to_fiber_no_sync);
    __tsan_release(edge);
    __tsan_switch_to_fiber(self, __tsan_switch_to_fiber_no_sync);
#endif
}

void fiber::finish_into(fiber &to) {
    has_begun_ = false;
    leave(to, nullptr);
#if defined(KREF_UCONTEXT)
    setcontext(&to.context_);
#else
    kref_switch_stack(&stack_pointer_, to.stack_pointer_);
#endif
    abort(); /* nobody switches to a finished fiber */
}

} // namespace kref::emulation
