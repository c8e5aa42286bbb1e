/* test_listen.c - listeners and the ways to reach them, and what connecting can
 * fail of. */

#define _GNU_SOURCE 1

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "dwire/connection.h"
#include "support/ends.h"
#include "support/failing.h"

static char folder[64];

/* Longer than any socket's name. */
#define TEN  "xxxxxxxxxx"
#define LONG TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/dwire-listen-XXXXXX");
    return mkdtemp(folder) == NULL;
}

/* Whatever is left in it makes this fail. */
static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static const char *address_in(const char *format)
{
    static char address[512];
    char *mark;
    strcpy(address, format);
    while ((mark = strstr(address, "DIR")) != NULL) {
        char rest[512];
        strcpy(rest, mark + 3);
        strcpy(mark, folder);
        strcat(address, rest);
    }
    return address;
}

/* A client that comes by an address, and says hello. */
static void visit(dw_listener *l, const char *address)
{
    ends e;
    expect_code(dw_connect(&e.client, address, 0, DW_TIMEOUT_DEFAULT), 0);
    expect_code(dw_accept(l, &e.server, 0), 1);
    ends_ready(&e);
    expect_code(send_signal(e.client, 1), 0);
    expect_signal(e.server, 1);
    expect_code(send_signal(e.server, 2), 0);
    expect_signal(e.client, 2);
    assert_string_equal(dw_conn_guid(e.client), dw_listener_guid(l));
    dw_peer peer;
    dw_conn_peer(e.server, &peer);
    assert_int_equal(peer.uid, geteuid());
    assert_int_equal(peer.gid, getegid());
    assert_int_equal(peer.pid, getpid());
    dw_conn_peer(e.client, &peer);
    assert_int_equal(peer.uid, geteuid());
    assert_true(fcntl(dw_conn_fd(e.client), F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(dw_conn_fd(e.server), F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(dw_listener_fd(l), F_GETFD) & FD_CLOEXEC);
    char label[300];
    int r = dw_conn_label(e.server, label, sizeof label);
    assert_true(r == DW_E_UNSUPPORTED || (r > 0 && strlen(label) == (size_t)r));
    ends_close(&e);
}

static void listens_in_every_form(void **state)
{
    (void)state;
    static const struct {
        const char *listen, *starts;
    } rows[] = {
        {"unix:path=DIR/a", "unix:path=DIR/a,guid="},
        {"unix:path=DIR/%20b%2c", "unix:path=DIR/%20b%2c,guid="},
        {"unix:dir=DIR", "unix:path=DIR/dbus-"},
        {"unix:tmpdir=DIR", "unix:path=DIR/dbus-"},
        {"unix:abstract=DIR/c", "unix:abstract=DIR/c,guid="},
        {"unix:runtime=yes", "unix:path=DIR/bus,guid="},
        {"unix:path=DIR/e,path=DIR/f,x=" LONG, "unix:path=DIR/e,guid="},
        {"tcp:host=localhost;unix:path=DIR/none/x;unix:path=DIR/d", "unix:path=DIR/d,guid="},
    };
    unsigned before = count_descriptors();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dw_listener *l;
        setenv("XDG_RUNTIME_DIR", folder, 1);
        expect_code(dw_listen(&l, address_in(rows[i].listen), NULL), 0);
        const char *starts = address_in(rows[i].starts);
        assert_memory_equal(dw_listener_address(l), starts, strlen(starts));
        assert_int_equal(strlen(dw_listener_guid(l)), 32);
        for (int n = 0; n < 3; n++)
            visit(l, dw_listener_address(l));
        dw_conn *c;
        expect_code(dw_accept(l, &c, 0), 0);
        expect_code(dw_accept(l, &c, 1), 0);
        assert_null(c);
        dw_listener_close(l);
    }
    assert_int_equal(count_descriptors(), before);
}

static void refuses_what_it_cannot(void **state)
{
    (void)state;
    static const struct {
        const char *address;
        int code;
    } rows[] = {
        {"tcp:host=localhost", DW_E_UNSUPPORTED},
        {"unix:", DW_E_UNSUPPORTED},
        {"unix:guid=0123456789abcdef0123456789abcdef", DW_E_UNSUPPORTED},
        {"unix:path=DIR/a,abstract=b", DW_E_ADDRESS},
        {"unix:runtime=no", DW_E_ADDRESS},
        {"unix:path=DIR/"
         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
         DW_E_ADDRESS},
        {"unix:path=DIR/%00", DW_E_ADDRESS},
        {"unix:dir=DIR%00x", DW_E_ADDRESS},
        {"unix:runtime=yes%00", DW_E_ADDRESS},
        {"tcp:path=DIR/a,abstract=b", DW_E_UNSUPPORTED},
        {"nonsense", DW_E_ADDRESS},
        {"unix:path=DIR/none/x", DW_E_SYSTEM},
    };
    unsigned before = count_descriptors();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dw_listener *l;
        expect_code(dw_listen(&l, address_in(rows[i].address), NULL), rows[i].code);
        assert_null(l);
    }
    dw_listener *l;
    expect_code(dw_listen(&l, address_in("unix:path=DIR/a"), &(dw_options){.guid = "short"}),
                DW_E_ARGUMENT);
    unsetenv("XDG_RUNTIME_DIR");
    expect_code(dw_listen(&l, "unix:runtime=yes", NULL), DW_E_UNSUPPORTED);
    assert_int_equal(count_descriptors(), before);
}

static bool there(const char *path)
{
    return access(path, F_OK) == 0;
}

static void socket_files_come_and_go(void **state)
{
    (void)state;
    char path[128];
    dw_listener *l, *other;
    snprintf(path, sizeof path, "%s/s", folder);
    const char *address = address_in("unix:path=DIR/s");
    /* A live one is not replaced. */
    expect_code(dw_listen(&l, address, NULL), 0);
    expect_code(dw_listen(&other, address, NULL), DW_E_SYSTEM);
    assert_int_equal(errno, EADDRINUSE);
    dw_conn *c;
    expect_code(dw_accept(l, &c, 0), 1); /* it had a look whether it is live */
    dw_conn_close(c);
    visit(l, address);
    dw_listener_close(l);
    assert_false(there(path));
    /* A stale one is. */
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    memcpy(un.sun_path, path, strlen(path) + 1);
    assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof un), 0);
    close(fd);
    assert_true(there(path));
    expect_code(dw_listen(&l, address, NULL), 0);
    visit(l, address);
    /* What has taken its place is left alone. */
    unlink(path);
    expect_code(dw_listen(&other, address, NULL), 0);
    dw_listener_close(l);
    assert_true(there(path));
    visit(other, address);
    dw_listener_close(other);
    assert_false(there(path));
    /* What is no socket too. */
    close(creat(path, 0600));
    expect_code(dw_listen(&l, address, NULL), DW_E_SYSTEM);
    assert_int_equal(errno, EADDRINUSE);
    assert_int_equal(unlink(path), 0);
}

static void takes_over_listening_sockets(void **state)
{
    (void)state;
    dw_listener *first, *l;
    expect_code(dw_listen(&first, address_in("unix:path=DIR/s"), NULL), 0);
    int fd = dup(dw_listener_fd(first));
    expect_code(dw_listen_fd(&l, fd, NULL), 0);
    visit(l, dw_listener_address(l));
    dw_listener_close(l);
    assert_true(there(address_in("DIR/s")));
    dw_listener_close(first);
    expect_code(dw_listen_fd(&l, 4000, NULL), DW_E_SYSTEM);
    assert_int_equal(errno, EBADF);
}

/* As a service manager makes them: blocking, and with a path that fills all the
 * room there is for one. */
static void takes_over_what_others_made(void **state)
{
    (void)state;
    dw_listener *l;
    dw_conn *c;
    /* With a NUL behind it, which valgrind looks for. */
    union {
        struct sockaddr_un un;
        char bytes[sizeof(struct sockaddr_un) + 1];
    } name = {.bytes = ""};
    char path[sizeof name.un.sun_path + 1], address[256];
    name.un.sun_family = AF_UNIX;
    memset(path, 'p', sizeof path);
    memcpy(path, address_in("DIR/"), strlen(folder) + 1);
    path[sizeof path - 1] = 0;
    memcpy(name.un.sun_path, path, sizeof name.un.sun_path);
    unsigned before = count_descriptors();
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    expect_code(dw_listen_fd(&l, fd, NULL), DW_E_ARGUMENT);
    assert_null(l);
    assert_int_equal(bind(fd, (struct sockaddr *)&name.un, sizeof name.un), 0);
    assert_int_equal(listen(fd, 1), 0);
    expect_code(dw_listen_fd(&l, fd, NULL), 0);
    snprintf(address, sizeof address, "unix:path=%s,guid=%s", path, dw_listener_guid(l));
    assert_string_equal(dw_listener_address(l), address);
    expect_code(dw_accept(l, &c, 0), 0);
    expect_code(dw_accept(l, &c, 1), 0);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    dw_listener_close(l);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(count_descriptors(), before);
}

/* -- Connecting ---------------------------------------------------------------------- */

static void connecting_says_why_not(void **state)
{
    (void)state;
    static const struct {
        const char *address;
        int code, cause;
        const char *text;
    } rows[] = {
        {"unix:path=DIR/none", DW_E_SYSTEM, ENOENT, "No such file or directory"},
        {"unix:abstract=DIR/none", DW_E_SYSTEM, ECONNREFUSED, "Connection refused"},
        {"unix:path=DIR/file", DW_E_SYSTEM, ECONNREFUSED, "Connection refused"},
        {"tcp:host=localhost,port=1", DW_E_UNSUPPORTED, 0, "\"tcp\" is not supported"},
        {"unix:dir=DIR;autolaunch:", DW_E_UNSUPPORTED, 0, "\"autolaunch\" is not supported"},
        {"tcp:host=x;unix:path=DIR/none", DW_E_SYSTEM, ENOENT, "No such file"},
        {"unix:path=DIR/a,abstract=b", DW_E_ADDRESS, 0, "not a valid server address"},
        {"unix:path=DIR/a,guid=123", DW_E_ADDRESS, 0, "not a valid server address"},
        {"unix:path=DIR/none,guid=g123456789abcdef0123456789abcdef", DW_E_ADDRESS, 0,
         "not a valid server address"},
        {"unix:x=" LONG ",path=DIR/none,path=DIR/file", DW_E_SYSTEM, ENOENT, "No such file"},
        {"nonce-tcp:noncefile=" LONG, DW_E_UNSUPPORTED, 0, "\"nonce-tcp\" is not supported"},
        {"tcp:path=DIR/a,abstract=b", DW_E_UNSUPPORTED, 0, "\"tcp\" is not supported"},
        {"", DW_E_ADDRESS, 0, "not a valid server address"},
    };
    unsigned before = count_descriptors();
    close(creat(address_in("DIR/file"), 0600));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dw_conn *c;
        char text[512];
        const char *address = address_in(rows[i].address);
        errno = 0;
        int r = dw_connect(&c, address, 0, DW_TIMEOUT_DEFAULT), cause = errno;
        expect_code(r, rows[i].code);
        if (r == DW_E_SYSTEM)
            assert_int_equal(cause, rows[i].cause);
        assert_null(c);
        errno = cause;
        size_t n = dw_connect_text(r, address, text, sizeof text);
        assert_int_equal(n, strlen(text));
        assert_non_null(strstr(text, rows[i].text));
    }
    unlink(address_in("DIR/file"));
    assert_int_equal(count_descriptors(), before);
}

/* The first address that works is taken, and only its guid counts. */
static void tries_all_addresses(void **state)
{
    (void)state;
    dw_listener *l;
    char list[1024];
    expect_code(dw_listen(&l, address_in("unix:path=DIR/s"), NULL), 0);
    snprintf(list, sizeof list, "tcp:host=x;unix:path=/none,guid=%s;%s",
             "00000000000000000000000000000000", dw_listener_address(l));
    visit(l, list);
    dw_listener_close(l);
}

/* Nobody accepts, and the queue is full. */
static void connecting_has_a_timeout(void **state)
{
    (void)state;
    enum { TRIES = 10 };
    unsigned before = count_descriptors();
    dw_listener *l;
    dw_conn *c[TRIES];
    dw_message m;
    expect_code(dw_listen(&l, address_in("unix:path=DIR/s"), &(dw_options){.backlog = 1}), 0);
    int n = 0, r = 0;
    while (n < TRIES && (r = dw_connect(&c[n], dw_listener_address(l), 0, n % 2)) == 0)
        n++;
    expect_code(r, DW_E_TIMEOUT);
    assert_true(n < TRIES);
    expect_code(dw_connect(&c[n], dw_listener_address(l), 0, 1), DW_E_TIMEOUT);
    expect_code(dw_connect(&c[n], dw_listener_address(l), 0, 0), DW_E_TIMEOUT);
    for (int i = 0; i < 5; i++) /* whichever way it waits */
        expect_code(dw_receive(c[1], &m, i < 4 ? 1 : 110), 0);
    while (n > 0)
        dw_conn_close(c[--n]);
    dw_listener_close(l);
    assert_int_equal(count_descriptors(), before);
}

/* A server that lets its queue fill up, and comes back to it. */
static pid_t accept_later(dw_listener *l)
{
    pid_t pid = fork();
    if (pid == 0) {
        dw_conn *c;
        usleep(20000);
        while (dw_accept(l, &c, 10000) > 0)
            dw_conn_close(c);
        _exit(1);
    }
    return pid;
}

static void connecting_waits_for_room(void **state)
{
    (void)state;
    static const int timeouts[] = {DW_TIMEOUT_DEFAULT, DW_TIMEOUT_NONE};
    enum { TRIES = 10 };
    unsigned before = count_descriptors();
    for (size_t i = 0; i < 2; i++) {
        dw_listener *l;
        dw_conn *c[TRIES];
        dw_message m;
        int n = 0;
        expect_code(dw_listen(&l, address_in("unix:path=DIR/s"), &(dw_options){.backlog = 1}), 0);
        while (n < TRIES - 1 && dw_connect(&c[n], dw_listener_address(l), 0, 0) == 0)
            n++;
        assert_true(n < TRIES - 1);
        pid_t pid = accept_later(l);
        expect_code(dw_connect(&c[n++], dw_listener_address(l), 0, timeouts[i]), 0);
        expect_code(dw_receive(c[n - 1], &m, timeouts[i]), DW_E_CLOSED);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        while (n > 0)
            dw_conn_close(c[--n]);
        dw_listener_close(l);
    }
    assert_int_equal(count_descriptors(), before);
}

static void out_of_descriptors_is_an_error(void **state)
{
    (void)state;
    skip_without_limits();
    struct rlimit old, limit;
    dw_listener *l, *other;
    ends e;
    expect_code(dw_listen(&l, address_in("unix:path=DIR/s"), NULL), 0);
    expect_code(dw_connect(&e.client, dw_listener_address(l), 0, 0), 0);
    int next = dup(0);
    close(next);
    getrlimit(RLIMIT_NOFILE, &old);
    limit = old;
    limit.rlim_cur = (rlim_t)next;
    setrlimit(RLIMIT_NOFILE, &limit);
    dw_conn *c;
    errno = 0;
    expect_code(dw_connect(&c, dw_listener_address(l), 0, 0), DW_E_SYSTEM);
    assert_int_equal(errno, EMFILE);
    errno = 0;
    expect_code(dw_accept(l, &e.server, 0), DW_E_SYSTEM);
    assert_int_equal(errno, EMFILE);
    expect_code(dw_listen(&other, address_in("unix:dir=DIR"), NULL), DW_E_SYSTEM);
    assert_int_equal(errno, EMFILE);
    setrlimit(RLIMIT_NOFILE, &old);
    expect_code(dw_accept(l, &e.server, 0), 1);
    ends_ready(&e);
    ends_close(&e);
    dw_listener_close(l);
}

static void memory_fails_by_turns(void **state)
{
    (void)state;
    unsigned before = count_descriptors();
    for (unsigned fail_at = 1;; fail_at++) {
        failing f;
        dw_listener *l;
        ends e;
        int r;
        failing_init(&f, fail_at, false);
        dw_options o = {.allocator = &f.allocator};
        while ((r = dw_listen(&l, address_in("unix:path=DIR/s"), &o)) == DW_E_NO_MEMORY)
            assert_null(l);
        expect_code(r, 0);
        while ((r = dw_connect_with(&e.client, dw_listener_address(l), &o, 0)) == DW_E_NO_MEMORY)
            assert_null(e.client);
        expect_code(r, 0);
        /* Those that were given up on the way wait to be accepted too. */
        while ((r = dw_accept(l, &e.server, 0)) != 0) {
            if (r > 0)
                dw_conn_close(e.server);
            else
                expect_code(r, DW_E_NO_MEMORY);
        }
        dw_conn_close(e.client);
        dw_listener_close(l);
        assert_int_equal(f.live, 0);
        assert_int_equal(f.mistold, 0);
        if (f.asked < fail_at)
            break;
    }
    assert_int_equal(count_descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listens_in_every_form),
        cmocka_unit_test(refuses_what_it_cannot),
        cmocka_unit_test(socket_files_come_and_go),
        cmocka_unit_test(takes_over_listening_sockets),
        cmocka_unit_test(takes_over_what_others_made),
        cmocka_unit_test(connecting_says_why_not),
        cmocka_unit_test(tries_all_addresses),
        cmocka_unit_test(connecting_has_a_timeout),
        cmocka_unit_test(connecting_waits_for_room),
        cmocka_unit_test(out_of_descriptors_is_an_error),
        cmocka_unit_test(memory_fails_by_turns),
    };
    return cmocka_run_group_tests_name("listen", tests, make_folder, remove_folder);
}
