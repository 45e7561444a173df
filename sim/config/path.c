#include "config/path.h"

#include "config/text.h"

#include <stdarg.h>
#include <string.h>

/* Room for a value of the greatest depth below the longest --set key. */
enum { PATH_BYTES = (2 * SLI_DEPTH_MAX + 2) * SLI_EXCERPT_BYTES };

static void append(char *text, const sli_path *path) {
    if (path == NULL) {
        return;
    }
    append(text, path->parent);
    size_t used = strlen(text);
    if (path->key == NULL) {
        snprintf(text + used, PATH_BYTES - used, "[%zu]", path->index);
    } else {
        snprintf(text + used, PATH_BYTES - used, "%s%s", used > 0 ? "." : "",
                 sli_excerpt_of(path->key).text);
    }
}

void sli_path_error(sli_diag *diag, const sli_path *path, sli_mark mark, const char *format, ...) {
    char text[PATH_BYTES] = "";
    append(text, path);
    va_list args;
    va_start(args, format);
    char *message = sli_arena_vprintf(&diag->arena, format, args);
    va_end(args);
    if (message == NULL) {
        diag->is_out_of_memory = true;
        message = "";
    }
    sli_diag_error(diag, mark, text[0] != '\0' ? text : NULL, "%s", message);
}
