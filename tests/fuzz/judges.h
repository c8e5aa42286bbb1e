/* judges.h - what libdbus and GDBus say of bytes and texts. */

#ifndef TESTS_JUDGES_H
#define TESTS_JUDGES_H

#include <stdbool.h>
#include <stddef.h>

/* Each is NULL where the implementation is not asked. Texts end with a NUL and
 * hold no other. */
typedef struct judge {
    const char *name;
    bool (*message)(const void *bytes, size_t len); /* one that is whole; without descriptors */
    bool (*signature)(const char *text);
    bool (*single)(const char *text);
    bool (*path)(const char *text);
    bool (*interface)(const char *text);
    bool (*member)(const char *text);
    bool (*error_name)(const char *text);
    bool (*bus_name)(const char *text);
    bool (*utf8)(const char *text);
    bool (*address)(const char *text);
} judge;

extern const judge judge_libdbus, judge_gdbus;

#endif
