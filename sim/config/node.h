/*
 * Making and joining nodes of a tree.
 *
 * Floor config, internal; what users of trees need is in config/tree.h.
 */
#ifndef SLUICE_CONFIG_NODE_H
#define SLUICE_CONFIG_NODE_H

#include "config/tree.h"

/* Puts a child behind the others. */
void sli_node_append(sli_node *parent, sli_node *child);

/* Takes the child of that key out of a map; NULL if there is none. */
sli_node *sli_node_detach(sli_node *map, const char *key);

/* Sets the child of child->key: in the place of the old one, or behind the others. */
void sli_node_put(sli_node *map, sli_node *child);

/* Turns a node, in place, into a map whose only child is what it was; false without memory. */
SL_NODISCARD bool sli_node_wrap(sli_arena *arena, sli_node *node, const char *key);

#endif
