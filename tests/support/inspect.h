/* inspect.h - what dwire makes of bytes, asked in every way that there is. */

#ifndef TESTS_INSPECT_H
#define TESTS_INSPECT_H

#include "dwire/message.h"
#include "text.h"

/* What was found. Where two ways of asking differ (check and reader, value by
 * value and arrays at once, dw_skip and the getters), or where what was read is
 * not written back to the same bytes, in both byte orders, wrong says how. */
typedef struct finding {
    dw_fault fault;  /* code 0: valid */
    bool incomplete; /* of a message: dw_message_frame wants more bytes */
    text wrong;      /* empty: all ways agree */
} finding;

/* One message of len bytes, with n_fds descriptors. Bytes too many are an
 * error. */
void inspect_message(finding *f, const void *bytes, size_t len, uint32_t n_fds);

/* A bare body. The signature may be an invalid one. */
void inspect_body(finding *f, const char *signature, const void *body, size_t len, char order);

/* The text of all values of a parsed message, or of a bare body. */
void values_of_message(text *out, const dw_message *m);
void values_of_body(text *out, const char *signature, const void *body, size_t len, char order);

void finding_free(finding *f);

#endif
