/* listen.c - listeners. See dwire/connection.h. */

#define _GNU_SOURCE 1
#if defined(__APPLE__)
#define _DARWIN_C_SOURCE
#include <sys/random.h>
#endif

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "conn.h"

/* As many as the system allows: it cuts larger numbers down. */
#define LONGEST_QUEUE 65535

/* As long as a socket's name, escaped, with what is around it. */
enum { ADDRESS_SIZE = 3 * 108 + 80, NAME_SIZE = 256 };

struct dw_listener {
    int fd;
    dw_options options;
    bool owns_file;
    dev_t device; /* of the file, to know it again */
    ino_t inode;
    char path[NAME_SIZE];
    char guid[DW_AUTH_GUID + 1];
    char address[ADDRESS_SIZE];
};

/* -- GUIDs ------------------------------------------------------------------------- */

static int random_digits(char *out, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[DW_AUTH_GUID / 2];
    if (getentropy(bytes, n / 2) != 0)
        return DW_E_SYSTEM;
    for (size_t i = 0; i < n; i++)
        out[i] = digits[bytes[i / 2] >> (i % 2 * 4) & 15];
    out[n] = 0;
    return 0;
}

bool dw_guid_valid(const char *guid)
{
    return strlen(guid) == DW_AUTH_GUID && strspn(guid, "0123456789abcdefABCDEF") == DW_AUTH_GUID;
}

int dw_guid(char *out, const char *given)
{
    if (given == NULL)
        return random_digits(out, DW_AUTH_GUID);
    if (!dw_guid_valid(given))
        return DW_E_ARGUMENT;
    memcpy(out, given, DW_AUTH_GUID + 1);
    return 0;
}

/* -- Binding ------------------------------------------------------------------------- */

/* Whether the file of a socket is there that nobody listens on. */
static bool is_stale(const dw_sockaddr *address, const char *path)
{
    struct stat st;
    if (lstat(path, &st) != 0 || !S_ISSOCK(st.st_mode))
        return false;
    int fd = dw_socket_open(false);
    if (fd < 0)
        return false;
    bool refused = dw_socket_connect(fd, address) < 0 && errno == ECONNREFUSED;
    close(fd);
    return refused;
}

static int bind_and_listen(dw_listener *l, const char *name, size_t len, bool abstract)
{
    dw_sockaddr address;
    struct stat st;
    int r = dw_sockaddr_set(&address, name, len, abstract);
    if (r != 0)
        return r;
    r = dw_socket_bind(l->fd, &address);
    if (r < 0 && errno == EADDRINUSE && !abstract) {
        if (is_stale(&address, name))
            r = unlink(name) == 0 ? dw_socket_bind(l->fd, &address) : -1;
        else
            errno = EADDRINUSE;
    }
    if (r < 0)
        return DW_E_SYSTEM;
    if (!abstract && lstat(name, &st) == 0) {
        memcpy(l->path, name, len + 1);
        l->owns_file = true;
        l->device = st.st_dev;
        l->inode = st.st_ino;
    }
    int backlog = l->options.backlog > 0 ? l->options.backlog : LONGEST_QUEUE;
    return listen(l->fd, backlog) == 0 ? 0 : DW_E_SYSTEM;
}

/* The address for clients. The name's escaped form has been seen to fit. */
static void write_address(dw_listener *l, const char *name, size_t len, bool abstract)
{
    char escaped[3 * NAME_SIZE];
    dw_address_escape(name, len, escaped, sizeof escaped);
    snprintf(l->address, sizeof l->address, "unix:%s=%.330s,guid=%s",
             abstract ? "abstract" : "path", escaped, l->guid);
}

static int listen_at(dw_listener *l, const char *name, size_t len, bool abstract)
{
    l->fd = dw_socket_open(false);
    if (l->fd < 0)
        return DW_E_SYSTEM;
    int r = bind_and_listen(l, name, len, abstract);
    if (r == 0)
        write_address(l, name, len, abstract);
    return r;
}

static int join(char *out, const char *folder, const char *name)
{
    int n = snprintf(out, NAME_SIZE, "%s/%s", folder, name);
    return n > 0 && n < NAME_SIZE ? 0 : DW_E_ADDRESS;
}

static int listen_in_folder(dw_listener *l, const char *folder)
{
    char path[NAME_SIZE], name[5 + 16 + 1] = "dbus-";
    int r = random_digits(name + 5, 16);
    if (r == 0)
        r = join(path, folder, name);
    return r != 0 ? r : listen_at(l, path, strlen(path), false);
}

static int listen_at_runtime(dw_listener *l)
{
    char path[NAME_SIZE];
    const char *folder = getenv("XDG_RUNTIME_DIR");
    if (folder == NULL || folder[0] == 0)
        return DW_E_UNSUPPORTED;
    int r = join(path, folder, "bus");
    return r != 0 ? r : listen_at(l, path, strlen(path), false);
}

/* Listens at the current entry. Exactly one of the keys says where. */
static int listen_at_entry(dw_listener *l, const dw_address *a)
{
    static const char *const where[] = {"path", "abstract", "dir", "tmpdir", "runtime"};
    enum { PATH, ABSTRACT, DIR, TMPDIR, RUNTIME, NOWHERE };
    int found = NOWHERE;
    char place[NAME_SIZE];
    size_t len = 0;
    if (!dw_string_is(a->transport, "unix"))
        return DW_E_UNSUPPORTED;
    for (int i = 0; i < NOWHERE; i++) {
        int r = dw_address_find(a, where[i], place, sizeof place, &len);
        if (r < 0 || (r > 0 && found != NOWHERE))
            return DW_E_ADDRESS;
        if (r > 0)
            found = i;
    }
    if (found == NOWHERE)
        return DW_E_UNSUPPORTED;
    if (found == PATH || found == ABSTRACT)
        return listen_at(l, place, len, found == ABSTRACT);
    if (strlen(place) != len) /* a NUL in the name of a folder */
        return DW_E_ADDRESS;
    if (found != RUNTIME)
        return listen_in_folder(l, place);
    return strcmp(place, "yes") == 0 ? listen_at_runtime(l) : DW_E_ADDRESS;
}

/* -- Life and death --------------------------------------------------------------------- */

static int new_listener(dw_listener **out, const dw_options *options)
{
    dw_options o = options != NULL ? *options : (dw_options){.flags = 0};
    if (o.allocator == NULL)
        o.allocator = dw_heap;
    o.flags &= ~(unsigned)DW_CONN_BUS;
    dw_listener *l = o.allocator->resize(o.allocator->context, NULL, 0, sizeof *l);
    *out = NULL;
    if (l == NULL)
        return DW_E_NO_MEMORY;
    memset(l, 0, sizeof *l);
    l->fd = -1;
    l->options = o;
    int r = dw_guid(l->guid, o.guid);
    if (r != 0)
        dw_listener_close(l);
    else
        *out = l;
    return r;
}

static void shut(dw_listener *l)
{
    struct stat st;
    int saved = errno;
    if (l->owns_file && lstat(l->path, &st) == 0 && st.st_dev == l->device && st.st_ino == l->inode)
        unlink(l->path);
    l->owns_file = false;
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
    errno = saved;
}

void dw_listener_close(dw_listener *l)
{
    if (l == NULL)
        return;
    shut(l);
    const dw_allocator *allocator = l->options.allocator;
    allocator->resize(allocator->context, l, sizeof *l, 0);
}

int dw_listen(dw_listener **out, const char *address, const dw_options *options)
{
    *out = NULL;
    dw_address a;
    dw_listener *l;
    int code = dw_check_address(address, NULL);
    if (code != 0)
        return code;
    code = new_listener(&l, options);
    if (code != 0)
        return code;
    code = DW_E_UNSUPPORTED;
    dw_address_init(&a, address);
    while (dw_address_next(&a) > 0) {
        int r = listen_at_entry(l, &a);
        if (r == 0) {
            *out = l;
            return 0;
        }
        shut(l);
        if (r != DW_E_UNSUPPORTED)
            code = r;
    }
    dw_listener_close(l);
    return code;
}

int dw_listen_fd(dw_listener **out, int fd, const dw_options *options)
{
    struct sockaddr_un un;
    socklen_t len = sizeof un;
    *out = NULL;
    if (getsockname(fd, (struct sockaddr *)&un, &len) < 0)
        return DW_E_SYSTEM;
    if (un.sun_family != AF_UNIX)
        return DW_E_UNSUPPORTED;
    /* A path may fill all of its room; its NUL is counted then, but not there. */
    size_t n = (len < sizeof un ? len : sizeof un) - offsetof(struct sockaddr_un, sun_path);
    if (n == 0) /* listening sockets have a name */
        return DW_E_ARGUMENT;
    int flags = fcntl(fd, F_GETFD), status = fcntl(fd, F_GETFL);
    if (fcntl(fd, F_SETFD, flags | FD_CLOEXEC) < 0 || fcntl(fd, F_SETFL, status | O_NONBLOCK) < 0)
        return DW_E_SYSTEM;
    int r = new_listener(out, options);
    if (r != 0)
        return r;
    bool abstract = un.sun_path[0] == 0;
    if (abstract)
        write_address(*out, un.sun_path + 1, n - 1, true);
    else
        write_address(*out, un.sun_path, strnlen(un.sun_path, n), false);
    (*out)->fd = fd;
    return 0;
}

const char *dw_listener_address(const dw_listener *l)
{
    return l->address;
}

const char *dw_listener_guid(const dw_listener *l)
{
    return l->guid;
}

int dw_listener_fd(const dw_listener *l)
{
    return l->fd;
}

int dw_accept(dw_listener *l, dw_conn **out, int timeout_ms)
{
    int64_t deadline = 0;
    *out = NULL;
    for (;;) {
        int fd = dw_socket_accept(l->fd);
        if (fd >= 0) {
            int r = dw_conn_new_server(out, fd, &l->options, l->guid);
            if (r != 0)
                dw_fds_close(&fd, 1);
            return r == 0 ? 1 : r;
        }
        if (errno != EAGAIN && errno != EWOULDBLOCK)
            return DW_E_SYSTEM;
        if (timeout_ms == 0)
            return 0;
        if (deadline == 0)
            deadline = dw_deadline(timeout_ms);
        int64_t left = deadline == INT64_MAX ? INT64_MAX : deadline - dw_now();
        if (left <= 0)
            return 0;
        if (dw_socket_poll(l->fd, POLLIN, left) < 0)
            return DW_E_SYSTEM;
    }
}
