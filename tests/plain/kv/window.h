/*
 * What a context holds of a group whose blocks do not all stay: windows, chunks, states, kept rows.
 *
 * Floor kv. Between steps it holds the blocks from the first one kept at its computed tokens on
 * (see kv/layout_held.h); those that it has passed go back. Its contents are findable like those of
 * the first group, but a prefix can only be continued where all that is kept at its end is there.
 * Of a kept group the first so many blocks are held: what stays of its rows moves together. A
 * reservation holds as many blocks as can ever be needed before it is used up.
 */
#ifndef SLUICE_KV_WINDOW_H
#define SLUICE_KV_WINDOW_H

#include "kv/pool.h"

typedef struct sli_window_block {
    int64_t position; /* in blocks of the group */
    uint32_t first_page;
} sli_window_block;

/* Zeroed holds nothing. */
typedef struct sli_window {
    sli_window_block *blocks; /* by position */
    int64_t count;
    int64_t capacity;
    int64_t end_block; /* behind the last one ever taken; of a kept group behind the last one */
    uint32_t *spare;   /* the first pages of blocks that a reservation holds besides */
    int64_t spare_count;
    int64_t spare_capacity;
    int64_t prompt_tokens;
    int64_t known_tokens;    /* at the start: a step may compute them all */
    int64_t reserved_tokens; /* at the start; 0 = none */
    int64_t computed_tokens; /* when a step ended last */
} sli_window;

/* A window of a pool: its group, and the number by which its contents are known. */
typedef struct sli_window_site {
    sli_pool *pool;
    const sli_group *group;
    uint32_t number;
} sli_window_site;

/* The longest prefix of at most `tokens`, a multiple of `align_tokens`, whose window is findable.
 */
int64_t sli_window_fit(const sli_window_site *site, const sli_content_view *view, int64_t tokens,
                       int64_t align_tokens);

/* Blocks of the pool that sharing the window behind a prefix of so many tokens uses up, as they lie
 * in the free queue. */
int64_t sli_window_free_pages(const sli_window_site *site, const sli_content_view *view,
                              int64_t tokens);

/* Shares the window behind a prefix. It must hold nothing. */
SL_NODISCARD sl_err sli_window_share(sli_window *window, const sli_window_site *site,
                                     const sli_content_view *view, int64_t tokens);

/* Blocks of the pool that are needed for slots up to `tokens`, when it has shared a prefix of
 * `prefix_tokens` or goes on from where it is (the larger end counts). */
int64_t sli_window_need(const sli_window *window, const sli_window_site *site,
                        int64_t prefix_tokens, int64_t tokens);

/* The same for slots up to `tokens` now and for those that a kept group needs until it has
 * fit_tokens, whichever is more; for the others the former. */
int64_t sli_window_fit_need(const sli_window *window, const sli_window_site *site,
                            int64_t prefix_tokens, int64_t tokens, int64_t fit_tokens);

/* Takes them. */
SL_NODISCARD sl_err sli_window_extend(sli_window *window, const sli_window_site *site,
                                      int64_t prefix_tokens, int64_t tokens);

/* With `tokens` computed, makes what is full within the first limit_tokens findable. */
void sli_window_publish(sli_window *window, const sli_window_site *site,
                        const sli_content_view *view, int64_t tokens, int64_t limit_tokens);

/* Takes publications beyond `tokens` back. */
void sli_window_retract(sli_window *window, const sli_window_site *site, int64_t tokens);

/* What has been passed at `tokens` computed tokens goes back: contents that others may find at
 * once, else only when `gives_blank`. Private contents are forgotten. */
void sli_window_slide(sli_window *window, const sli_window_site *site, const sli_content_view *view,
                      int64_t tokens, bool gives_blank);

/* Gives everything back, what is spare and then the deepest first, and frees the memory. */
void sli_window_release(sli_window *window, const sli_window_site *site);

#endif
