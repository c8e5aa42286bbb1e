/* ends.c - the two ends of a connection in one process. */

#include "ends.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cmocka.h>

void expect_code_at(int came, int expected, const char *call, const char *file, int line)
{
    if (came == expected)
        return;
    print_error("%s: %s (%d), not %s (%d)\n", call, dw_error_name(came), came,
                dw_error_name(expected), expected);
    _fail(file, line);
}

void make_sockets(int fd[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
}

void ends_open(ends *e, const dw_options *client, const dw_options *server)
{
    static const dw_options defaults;
    dw_options c = client ? *client : defaults, s = server ? *server : defaults;
    int fd[2];
    make_sockets(fd);
    s.flags |= DW_CONN_SERVER;
    expect_code(dw_conn_from_fd_with(&e->client, fd[0], &c), 0);
    expect_code(dw_conn_from_fd_with(&e->server, fd[1], &s), 0);
}

void ends_ready(ends *e)
{
    for (int i = 0; i < 10 && !(dw_conn_ready(e->client) && dw_conn_ready(e->server)); i++) {
        dw_flush(e->client, 0);
        dw_flush(e->server, 0);
    }
    expect_code(dw_flush(e->client, 0), 0);
    expect_code(dw_flush(e->server, 0), 0);
}

void ends_close(ends *e)
{
    dw_conn_close(e->client);
    dw_conn_close(e->server);
}

static void finish(dw_writer *w)
{
    expect_code(dw_finish(w), 0);
}

void write_signal(dw_writer *w, uint32_t value)
{
    dw_begin_signal(w, "/org/example", "org.example.Test", "Member", "u");
    dw_put_uint32(w, value);
    finish(w);
}

void write_ballast(dw_writer *w, size_t len)
{
    uint8_t *p = malloc(len + 1);
    assert_non_null(p);
    for (size_t i = 0; i < len; i++)
        p[i] = (uint8_t)(i * 7);
    dw_begin_signal(w, "/org/example", "org.example.Test", "Ballast", "ay");
    dw_put_byte_array(w, p, len);
    free(p);
    finish(w);
}

void write_call(dw_writer *w, const char *member, uint32_t value)
{
    dw_begin_call(w, NULL, "/org/example", "org.example.Test", member, "u");
    dw_put_uint32(w, value);
    finish(w);
}

int send_signal(dw_conn *c, uint32_t value)
{
    uint8_t room[256];
    dw_writer w;
    dw_writer_init(&w, room, sizeof room, NULL);
    write_signal(&w, value);
    return dw_send(c, &w, NULL);
}

uint32_t value_of(const dw_message *m)
{
    dw_reader r;
    dw_reader_init(&r, m);
    uint32_t value = dw_get_uint32(&r);
    expect_code(dw_reader_finish(&r), 0);
    return value;
}

void expect_signal(dw_conn *c, uint32_t value)
{
    dw_message m;
    expect_code(dw_receive(c, &m, DW_TIMEOUT_DEFAULT), 1);
    assert_int_equal(m.type, DW_SIGNAL);
    assert_string_equal(m.member.p, "Member");
    assert_int_equal((uintptr_t)m.bytes % 8, 0);
    assert_int_equal(value_of(&m), value);
}

void answer_call(dw_conn *c, const dw_message *call, uint32_t value)
{
    uint8_t room[256];
    dw_writer w;
    dw_writer_init(&w, room, sizeof room, NULL);
    dw_begin_reply(&w, call, "u");
    dw_put_uint32(&w, value);
    finish(&w);
    expect_code(dw_send(c, &w, NULL), 0);
}

void refuse_call(dw_conn *c, const dw_message *call)
{
    uint8_t room[256];
    dw_writer w;
    dw_writer_init(&w, room, sizeof room, NULL);
    dw_begin_error(&w, call, "org.example.Refused", "s");
    dw_put_string(&w, "no");
    finish(&w);
    expect_code(dw_send(c, &w, NULL), 0);
}

void skip_without_limits(void)
{
    const char *preload = getenv("LD_PRELOAD");
    if (preload && strstr(preload, "vgpreload"))
        skip();
}

unsigned count_descriptors(void)
{
    struct rlimit limit;
    unsigned n = 0;
    getrlimit(RLIMIT_NOFILE, &limit);
    for (int fd = 0; fd < 4096 && (rlim_t)fd < limit.rlim_cur; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}
