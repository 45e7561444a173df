/*
 * The list of ids in a line of JSON, read without a JSON parser.
 *
 * Part workloads. Such lists are most of a trace, and making an object of every id is most of the
 * time that a JSON parser takes for it. So a list of plain whole numbers is lifted out of the line
 * and leaves an empty list behind. What is not as plain as that stays, for the parser to judge.
 */
#ifndef WORKLOADS_ID_LIST_H
#define WORKLOADS_ID_LIST_H

#include <stddef.h>
#include <stdint.h>

typedef struct sli_id_list {
    uint64_t *ids; /* owned */
    size_t count;
    size_t capacity;
} sli_id_list;

/*
 * Lifts the list of the last `key`, which is given in quotes, out of the outermost object of the
 * line, and writes blanks over it. Without such a list, or without memory for it, the line stays as
 * it is and the list is empty. A parser takes the line for good or bad as it would have before,
 * with errors in the same columns. O(length of the line).
 */
void sli_id_list_lift(sli_id_list *list, const char *key, char *line);

void sli_id_list_fini(sli_id_list *list);

#endif
