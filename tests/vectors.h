/* vectors.h - the judges of the kinds of vectors. */

#ifndef TESTS_VECTORS_H
#define TESTS_VECTORS_H

#include "support/table.h"
#include "support/text.h"

typedef enum outcome { PASSED, FAILED, SKIPPED } outcome;

/* Judges a row, and says in got what came. */
typedef outcome judge(const vector *v, text *got);

/* vectors_bytes.c */
judge judge_message, judge_prefix, judge_body;

/* vectors_names.c */
judge judge_signature, judge_single, judge_path, judge_interface, judge_member, judge_error,
    judge_busname, judge_utf8, judge_address, judge_escape;

/* vectors_auth.c */
judge judge_auth_server, judge_auth_client;

/* vectors_fds.c */
judge judge_fds;

/* For the judges: whether the row expected this verdict, "valid", "invalid" or
 * "incomplete". What may be either is looked up in the table of choices, and is
 * free where it is not in there. */
outcome settle(const vector *v, const char *verdict);

/* Compares a text with the column values, whatever escapes the two use; an empty
 * column matches anything. Adds to got what differs. */
bool values_agree(const vector *v, const text *came, text *got);

/* The blocks that a row's bytes are placed in, one shift after the other: how
 * many of them are worth it for so many bytes. */
size_t shifts_for(size_t len);

#endif
