/* A shared object that is no plugin: it exports something else. */
__attribute__((visibility("default"))) extern const int sl_no_policies;
const int sl_no_policies = 1;
