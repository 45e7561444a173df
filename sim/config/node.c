#include "config/node.h"

#include "config/schema.h"

#include <string.h>

sli_node *sli_node_find(const sli_node *map, const char *key) {
    for (sli_node *child = map->first; child != NULL; child = child->next) {
        if (child->key != NULL && strcmp(child->key, key) == 0) {
            return child;
        }
    }
    return NULL;
}

const sli_node *sli_tree_path(const sli_node *root, const char *path) {
    const sli_node *node = root;
    while (node != NULL && *path != '\0') {
        size_t length = strcspn(path, ".");
        const sli_node *child = node->first;
        while (child != NULL && (child->key == NULL || strlen(child->key) != length ||
                                 memcmp(child->key, path, length) != 0)) {
            child = child->next;
        }
        node = child;
        path += length + (path[length] == '.');
    }
    return node;
}

void sli_node_append(sli_node *parent, sli_node *child) {
    child->next = NULL;
    if (parent->last != NULL) {
        parent->last->next = child;
    } else {
        parent->first = child;
    }
    parent->last = child;
    parent->count++;
}

sli_node *sli_node_detach(sli_node *map, const char *key) {
    sli_node *before = NULL;
    sli_node *child = map->first;
    while (child != NULL && strcmp(child->key, key) != 0) {
        before = child;
        child = child->next;
    }
    if (child == NULL) {
        return NULL;
    }
    if (before != NULL) {
        before->next = child->next;
    } else {
        map->first = child->next;
    }
    if (map->last == child) {
        map->last = before;
    }
    map->count--;
    child->next = NULL;
    return child;
}

void sli_node_put(sli_node *map, sli_node *child) {
    sli_node *old = sli_node_find(map, child->key);
    if (old == NULL) {
        sli_node_append(map, child);
        return;
    }
    sli_node *next = old->next;
    *old = *child;
    old->next = next;
}

bool sli_node_wrap(sli_arena *arena, sli_node *node, const char *key) {
    sli_node *child = sli_arena_alloc(arena, sizeof *child);
    if (child == NULL) {
        return false;
    }
    *child = *node;
    child->key = key;
    child->key_mark = node->mark;
    *node = (sli_node){.next = node->next,
                       .key = node->key,
                       .key_mark = node->key_mark,
                       .mark = node->mark,
                       .kind = SLI_NODE_MAP,
                       .origin = node->origin};
    sli_node_append(node, child);
    return true;
}
