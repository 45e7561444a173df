/*
 * What a fallible call answers.
 *
 * Three kinds of trouble are kept apart everywhere. A mistake of the user is described in a
 * diagnostics list (base/diag.h), with file, line and column, and the call answers SL_ERR_CONFIG,
 * SL_ERR_FIT or the like. A failure of the environment (memory, disk) is a bare code that goes up
 * the stack. A bug is an assertion (base/check.h) and never a code.
 *
 * Outputs come last in the argument list and are untouched on failure.
 */
#ifndef SLUICE_ERR_H
#define SLUICE_ERR_H

#define SL_ERR_LIST(X)                                                                             \
    X(OK, 0, "no error")                                                                           \
    X(BUG, 1, "internal error")                                                                    \
    X(USAGE, 2, "wrong use of the command line")                                                   \
    X(CONFIG, 3, "bad scenario or data")                                                           \
    X(FIT, 4, "does not fit in memory")                                                            \
    X(LIVENESS, 5, "the simulated system cannot make progress")                                    \
    X(STOPPED, 6, "stopped early, results are partial")                                            \
    X(IO, 7, "input or output failed")                                                             \
    X(NOMEM, 8, "out of memory")                                                                   \
    X(POLICY, 9, "a policy broke a rule of its interface")

/* The first eight values are also the exit codes of the program; cli/main.c maps the others. */
typedef enum sl_err {
#define SL_ERR_ENUM(name, code, text) SL_ERR_##name = (code),
    SL_ERR_LIST(SL_ERR_ENUM)
#undef SL_ERR_ENUM
} sl_err;

#define SL_OK SL_ERR_OK

#if defined(__GNUC__)
#define SL_NODISCARD __attribute__((warn_unused_result))
#define SL_PRINTF(format_index, first_index)                                                       \
    __attribute__((format(printf, format_index, first_index)))
#else
#define SL_NODISCARD
#define SL_PRINTF(format_index, first_index)
#endif

/* Propagates a failure to the caller; for functions that own nothing yet. */
#define SL_TRY(call)                                                                               \
    do {                                                                                           \
        sl_err sl_try_err_ = (call);                                                               \
        if (sl_try_err_ != SL_OK) {                                                                \
            return sl_try_err_;                                                                    \
        }                                                                                          \
    } while (0)

/* One sentence for a code, without a full stop; never NULL. */
const char *sl_err_text(sl_err err);

#endif
