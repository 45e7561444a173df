#include "calib/hdf5_library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#define TEXT_OF(symbol) #symbol
#define SYMBOL(symbol)  {TEXT_OF(symbol), offsetof(sli_hdf5, symbol)},

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {SLI_HDF5_SYMBOLS(SYMBOL)};

/* It stays loaded: HDF5 keeps state of its own until the process ends. */
const char *sli_hdf5_load(const char *name, sli_hdf5 *library) {
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        return dlerror();
    }
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *address = dlsym(handle, symbols[i].name);
        if (address == NULL) {
            const char *why = dlerror();
            return why != NULL ? why : "a symbol of it has no address"; /* to the loader no error */
        }
        memcpy((char *)library + symbols[i].offset, &address, sizeof address);
    }
    return library->H5open() >= 0 ? NULL : "it does not open";
}
