/* rulings.h - where libdbus or GDBus say something else than dwire, and why dwire
 * is right. */

#ifndef TESTS_RULINGS_H
#define TESTS_RULINGS_H

#include "dwire/base.h"
#include "support/text.h"

/* What is judged: X(name, member of judge). */
#define MATTERS(X)                                                                                 \
    X(MESSAGE, message)                                                                            \
    X(SIGNATURE, signature)                                                                        \
    X(SINGLE, single)                                                                              \
    X(PATH, path)                                                                                  \
    X(INTERFACE, interface)                                                                        \
    X(MEMBER, member)                                                                              \
    X(ERROR_NAME, error_name)                                                                      \
    X(BUS_NAME, bus_name)                                                                          \
    X(UTF8, utf8)                                                                                  \
    X(ADDRESS, address)

#define MATTER(name, member) name,
typedef enum matter { MATTERS(MATTER) N_MATTERS } matter;
#undef MATTER

/* One thing to judge, and what dwire says of it. */
typedef struct item {
    matter matter;
    text t;
    dw_fault fault; /* code 0: valid */
    bool other;     /* what the other judge says, when one is held against dwire */
} item;

enum who { LIBDBUS, GDBUS, N_JUDGES };

/* The number of the ruling that decides a case in which this judge says the
 * opposite of dwire; negative: there is none. */
int find_ruling(enum who who, const item *i);

/* Adds a line for each ruling to the text: how often it decided, which section of
 * the specification it goes by, and why. */
void tell_rulings(text *out, const unsigned long *counts);
size_t count_rulings(void);

#endif
