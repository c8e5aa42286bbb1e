/* ends.h - the two ends of a connection in one process, and what tests say over
 * it. What fails here fails the test. */

#ifndef TESTS_ENDS_H
#define TESTS_ENDS_H

#include "dwire/connection.h"
#include "dwire/message.h"

/* A pair of connected sockets. */
void make_sockets(int fd[2]);

/* Two connections, not authenticated yet: client and server of a socketpair.
 * The flags are added. NULL options: the defaults. */
typedef struct ends {
    dw_conn *client, *server;
} ends;

void ends_open(ends *e, const dw_options *client, const dw_options *server);

/* Goes through the handshake. */
void ends_ready(ends *e);
void ends_close(ends *e);

/* A signal org.example.Test.Member with one uint32, in the writer. */
void write_signal(dw_writer *w, uint32_t value);

/* The same with len bytes of ballast instead. */
void write_ballast(dw_writer *w, size_t len);

/* A call of org.example.Test.Member with one uint32. */
void write_call(dw_writer *w, const char *member, uint32_t value);

/* Sends such a signal, and what dw_send says. */
int send_signal(dw_conn *c, uint32_t value);

/* Receives, and expects such a signal with this value. */
void expect_signal(dw_conn *c, uint32_t value);

/* The number in a message. */
uint32_t value_of(const dw_message *m);

/* Sends the answer to a call, or an error as the answer. */
void answer_call(dw_conn *c, const dw_message *call, uint32_t value);
void refuse_call(dw_conn *c, const dw_message *call);

/* Expects a result, and names it where it is another. */
#define expect_code(call, code) expect_code_at((call), (code), #call, __FILE__, __LINE__)
void expect_code_at(int came, int expected, const char *call, const char *file, int line);

/* Skips a test that needs the kernel's own limit of descriptors: valgrind has one
 * of its own, which not all calls know. */
void skip_without_limits(void);

/* How many descriptors are open in this process. */
unsigned count_descriptors(void);

#endif
