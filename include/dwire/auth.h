/* auth.h - the SASL exchange that comes before the first message, for both
 * ends, as a state machine: bytes in, bytes out, no I/O. Nothing here blocks or
 * allocates. Specification: "Authentication Protocol".
 *
 * Either end is driven in the same way:
 *
 *     dw_auth_client_init(&a, 0, NULL);       or dw_auth_server_init(...)
 *     for (;;) {
 *         out = dw_auth_output(&a, &len);     send what there is of it, and
 *         dw_auth_sent(&a, n);                say how much that was
 *         ... receive ...
 *         r = dw_auth_take(&a, in, len, &used);
 *         if (r != 0)                         1: in + used is the first message
 *             break;                          once the rest of the output is sent
 *     }
 *
 * Mechanisms: EXTERNAL, and ANONYMOUS where a flag asks for it. */

#ifndef DWIRE_AUTH_H
#define DWIRE_AUTH_H

#include "dwire/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DW_AUTH_MAX_LINE    512u /* bytes of a line, without its CR LF */
#define DW_AUTH_MAX_LINES   64u  /* lines from the peer */
#define DW_AUTH_MAX_REJECTS 6u   /* times that a server says REJECTED before it gives up */
#define DW_AUTH_GUID        32u  /* hex digits of a server's GUID */

enum dw_auth_flag {
    DW_AUTH_ANONYMOUS = 1, /* client: try it after EXTERNAL (implies LOCKSTEP); server: offer it */
    DW_AUTH_LOCKSTEP = 2,  /* client: wait for each answer before the next line */
    DW_AUTH_NO_FDS = 4     /* client: do not ask for fd passing; server: refuse it */
};

/* No user is known: what a server hands in where the kernel does not tell. */
#define DW_NO_UID (-1)

/* Whether a server lets in the user that the kernel says is at the other end;
 * asked once the client has claimed to be that user, or nobody in particular. */
typedef bool dw_admit_uid(void *context, int64_t uid);

/* One end of an exchange. All of it is private; the struct is public so that
 * it can live anywhere. */
typedef struct dw_auth {
    uint8_t state;
    uint8_t flags;
    uint8_t mechanism; /* the one in progress */
    uint8_t lines;     /* that the peer has sent */
    uint8_t rejects;
    bool server, nul, begun, fds, anonymous;
    bool named; /* guid is the server's own word */
    int code;   /* why it failed */
    int64_t uid;
    dw_admit_uid *admit;
    void *context;
    size_t line_len;
    size_t out_at, out_end;
    char guid[DW_AUTH_GUID + 1];
    char line[DW_AUTH_MAX_LINE + 1];
    char out[256];
} dw_auth;

/* Starts the client's end. guid, if not NULL, is the one that the server must
 * say it has: 32 hex digits. Without DW_AUTH_LOCKSTEP all lines are in the
 * output at once, and messages may follow them right away:
 *     \0AUTH EXTERNAL  DATA  NEGOTIATE_UNIX_FD  BEGIN
 * No identity is claimed, so that the server goes by what the kernel tells it;
 * that holds across user namespaces too. With DW_AUTH_LOCKSTEP the client
 * walks through the states of section "Client states". */
DW_API void dw_auth_client_init(dw_auth *a, unsigned flags, const char *guid);

/* Starts the server's end. guid are its 32 hex digits; uid is the user at the
 * other end as the kernel tells, or DW_NO_UID. admit says who is let in; NULL:
 * only the effective user of this process. Section "Server states". */
DW_API void dw_auth_server_init(dw_auth *a, unsigned flags, const char *guid, int64_t uid,
                                dw_admit_uid *admit, void *context);

/* Takes bytes from the peer; *used receives how many. Returns
 *   1  the exchange is through; what is left of the bytes are messages
 *   0  it goes on. Where *used is less than len, send the output first, then
 *      hand in the rest again.
 *   DW_E_AUTH      the server refused; the client was refused too often
 *   DW_E_PROTOCOL  the peer said what is not allowed there
 *   DW_E_GUID      the server is another than the one asked for
 *   DW_E_LIMIT     a line too long, or too many of them
 * After 1 or an error it says the same again. Also then there may be output that
 * is to be sent before anything else: the last answers, or the client's BEGIN. */
DW_API int dw_auth_take(dw_auth *a, const void *bytes, size_t len, size_t *used);

/* What is to be sent, *len bytes; and that n of them have been. A view that
 * lives until the next dw_auth_take. */
DW_API const char *dw_auth_output(const dw_auth *a, size_t *len);
DW_API void dw_auth_sent(dw_auth *a, size_t n);

/* Whether messages may be sent after the output: a client has said BEGIN, a
 * server has heard it. */
DW_API bool dw_auth_begun(const dw_auth *a);

/* The server's GUID, lower or upper case as it came; "" as long as a client
 * has not been told. */
DW_API const char *dw_auth_guid(const dw_auth *a);

/* Whether fd passing has been agreed on. */
DW_API bool dw_auth_fds(const dw_auth *a);

/* Whether the client was let in, or got in, as ANONYMOUS. */
DW_API bool dw_auth_anonymous(const dw_auth *a);

#ifdef __cplusplus
}
#endif
#endif
