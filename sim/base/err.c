#include "sluice/err.h"

const char *sl_err_text(sl_err err) {
    switch (err) {
#define SL_ERR_CASE(name, code, text)                                                              \
    case SL_ERR_##name:                                                                            \
        return text;
        SL_ERR_LIST(SL_ERR_CASE)
#undef SL_ERR_CASE
    }
    return "unknown error";
}
