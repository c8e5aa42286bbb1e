/* vectors_fds.c - judges the rows of kind fds: writes with descriptors, and the
 * messages that a connection makes of them, as SERIAL: and for each unix fd of
 * the body + for a good descriptor and ! for none. */

#include "vectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dwire/connection.h"

#define MAX_FDS 253 /* the most that one write can carry */

/* One write of bytes with n times the descriptor fd. */
static bool send_with(int to, const text *bytes, size_t n, int fd)
{
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(MAX_FDS * sizeof(int))];
    } control;
    struct iovec part = {bytes->p, bytes->n};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
    if (n) {
        memset(&control, 0, sizeof control);
        m.msg_control = &control;
        m.msg_controllen = CMSG_SPACE(n * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(n * sizeof(int));
        for (size_t i = 0; i < n; i++)
            memcpy(CMSG_DATA(c) + i * sizeof(int), &fd, sizeof fd);
    }
    return sendmsg(to, &m, MSG_NOSIGNAL) == (ssize_t)bytes->n;
}

/* Whether the index leads to a descriptor of the file that was sent. */
static bool good(const dw_message *m, uint32_t index, int sent)
{
    struct stat a, b;
    return m->fds && index < m->unix_fds && fstat(m->fds[index], &a) == 0 && fstat(sent, &b) == 0 &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static void describe(text *got, const dw_message *m, int sent)
{
    dw_reader r;
    text_printf(got, "%s%u:", got->n ? " " : "", (unsigned)m->serial);
    dw_reader_init(&r, m);
    while (dw_more(&r)) {
        bool array = dw_next_code(&r) == 'a';
        if (array)
            dw_enter_array(&r);
        do {
            if (dw_next_code(&r) == 'h') {
                uint32_t index = dw_get_unix_fd(&r);
                bool is = dw_reader_fault(&r).code == 0 && good(m, index, sent);
                text_put(got, is ? "+" : "!");
            } else {
                dw_skip(&r);
            }
        } while (array && dw_more(&r));
        if (array)
            dw_leave_array(&r);
    }
}

/* Hands out what has come. False once the connection has ended. */
static bool receive(dw_conn *c, text *got, int sent, int timeout_ms)
{
    dw_message m;
    int code;
    while ((code = dw_receive(c, &m, timeout_ms)) > 0)
        describe(got, &m, sent);
    if (code < 0 && code != DW_E_CLOSED)
        text_put(got, got->n ? " invalid" : "invalid");
    return code == 0;
}

/* Sends what a row says, " | " between the writes, and notes what comes. */
static bool play(const char *writes, dw_conn *c, int peer, int sent, text *got)
{
    bool open = true;
    for (const char *next; open && writes; writes = next) {
        const char *end = strstr(writes, " | ");
        size_t len = end ? (size_t)(end - writes) : strlen(writes), hex = strcspn(writes, "@ |");
        text bytes = {0};
        size_t n = hex < len ? strtoul(writes + hex + 1, NULL, 10) : 0;
        bool sound =
            n <= MAX_FDS && text_from_hex(&bytes, writes, hex) && send_with(peer, &bytes, n, sent);
        text_free(&bytes);
        if (!sound)
            return false;
        open = receive(c, got, sent, 0);
        next = end ? end + 3 : NULL;
    }
    shutdown(peer, SHUT_WR);
    if (open)
        receive(c, got, sent, DW_TIMEOUT_DEFAULT);
    return true;
}

/* -- What is expected --------------------------------------------------------- */

/* One alternative: without blanks around it, and "1:+ 3 times" written out. */
static void add_alternative(text *out, const char *s, size_t n)
{
    unsigned serial, times;
    while (n && (*s == ' ' || *s == '('))
        s++, n--;
    while (n && (s[n - 1] == ' ' || s[n - 1] == ')'))
        n--;
    text one = {0};
    text_add(&one, s, n);
    if (sscanf(text_string(&one), "%u:+ %u times", &serial, &times) == 2) {
        text_printf(out, "%u:", serial);
        for (; times; times--)
            text_put(out, "+");
    } else {
        text_add(out, s, n);
    }
    text_free(&one);
}

/* "A or B", "A (then B or C)", "may (A)". */
static bool is_expected(const char *expected, const char *came)
{
    text first = {0};
    bool found = false;
    const char *then = strstr(expected, "(then ");
    if (strncmp(expected, "may ", 4) == 0) {
        expected += 4; /* our choice: as many as one write can carry */
    } else if (then) {
        add_alternative(&first, expected, (size_t)(then - expected));
        text_put(&first, " ");
        expected = then + 6;
    }
    for (const char *next; !found && expected; expected = next) {
        const char *end = strstr(expected, " or ");
        text one = {0};
        text_put(&one, text_string(&first));
        add_alternative(&one, expected, end ? (size_t)(end - expected) : strlen(expected));
        found = strcmp(text_string(&one), came) == 0;
        next = end ? end + 4 : NULL;
        text_free(&one);
    }
    text_free(&first);
    return found;
}

/* The lowest descriptor that is free: the same before and after, or one leaks. */
static int lowest_free(void)
{
    int fd = dup(STDERR_FILENO);
    close(fd);
    return fd;
}

outcome judge_fds(const vector *v, text *got)
{
    int ends[2], files[2], before = lowest_free();
    dw_conn *c = NULL;
    if (pipe(files) < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0 ||
        dw_conn_from_fd(&c, ends[0], DW_CONN_SERVER | DW_CONN_NO_AUTH) < 0) {
        text_put(got, "no connection");
        return FAILED;
    }
    bool played = play(v->input, c, ends[1], files[0], got);
    bool right = played && is_expected(v->expected, text_string(got));
    if (!played)
        text_put(got, " and a write that cannot be");
    dw_conn_close(c);
    close(ends[1]);
    close(files[0]);
    close(files[1]);
    if (lowest_free() != before) {
        text_put(got, " and a descriptor left open");
        right = false;
    }
    return right ? PASSED : FAILED;
}
