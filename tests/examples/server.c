/* server.c - a server for many clients, without a bus, on epoll. It answers every
 * call of Upper with its string in capitals, and ends with Quit:
 *     server unix:path=/tmp/s */

#include <ctype.h>
#include <dwire.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* A client. All of them are in a list, for their timeouts. */
typedef struct client {
    dw_conn *c;
    struct client *next, **link;
} client;

typedef struct server {
    int epoll;
    dw_listener *listener;
    client *clients;
    dw_writer w;
    bool done;
} server;

static void accept_all(server *s)
{
    dw_conn *c;
    while (dw_accept(s->listener, &c, 0) > 0) {
        client *new = malloc(sizeof *new);
        struct epoll_event e = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = new};
        if (!new || epoll_ctl(s->epoll, EPOLL_CTL_ADD, dw_conn_fd(c), &e) != 0) {
            dw_conn_close(c);
            free(new);
            continue;
        }
        *new = (client){c, s->clients, &s->clients};
        if (new->next)
            new->next->link = &new->next;
        s->clients = new;
    }
}

static void drop(client *c)
{
    *c->link = c->next;
    if (c->next)
        c->next->link = c->link;
    dw_conn_close(c->c);
    free(c);
}

static int upper(server *s, client *c, const dw_message *m)
{
    dw_reader r;
    char text[256];
    dw_reader_init(&r, m);
    dw_string in = dw_get_string(&r);
    if (dw_reader_finish(&r) != 0 || in.n >= sizeof text)
        return dw_reply_error(c->c, m, "org.freedesktop.DBus.Error.InvalidArgs", "a short string");
    for (size_t i = 0; i <= in.n; i++)
        text[i] = (char)toupper((unsigned char)in.p[i]);
    dw_begin_reply(&s->w, m, "s");
    dw_put_string(&s->w, text);
    int code = dw_finish(&s->w);
    return code == 0 ? dw_send(c->c, &s->w, NULL) : code;
}

/* Takes in what a client has to say. */
static void hear(server *s, client *c)
{
    dw_message m;
    int r;
    while ((r = dw_receive(c->c, &m, 0)) > 0) {
        if (m.type != DW_METHOD_CALL)
            continue;
        if (strcmp(m.member.p, "Upper") == 0)
            r = upper(s, c, &m);
        else if (strcmp(m.member.p, "Quit") == 0)
            r = dw_reply(c->c, &m), s->done = true;
        else
            r = dw_reply_error(c->c, &m, "org.freedesktop.DBus.Error.UnknownMethod", NULL);
        if (r < 0)
            break;
    }
    if (r < 0) /* gone, or not admitted, or it never reads */
        drop(c);
}

/* Calls those whose time is up, and tells when the next one's is. */
static int look_after_timeouts(server *s)
{
    int next = -1;
    for (client *c = s->clients, *following; c; c = following) {
        following = c->next;
        int ms = dw_conn_timeout(c->c);
        if (ms == 0)
            hear(s, c);
        else if (ms > 0 && (next < 0 || ms < next))
            next = ms;
    }
    return next;
}

int main(int argc, char **argv)
{
    server s = {.epoll = epoll_create1(EPOLL_CLOEXEC)};
    struct epoll_event events[64], e = {.events = EPOLLIN};
    int code = dw_listen(&s.listener, argc > 1 ? argv[1] : "unix:tmpdir=/tmp", NULL);
    dw_writer_init(&s.w, NULL, 0, dw_heap);
    if (code != 0 || epoll_ctl(s.epoll, EPOLL_CTL_ADD, dw_listener_fd(s.listener), &e) != 0) {
        fprintf(stderr, "server: %s\n", dw_error_text(code));
        return 1;
    }
    puts(dw_listener_address(s.listener));
    fflush(stdout);
    while (!s.done) {
        int n = epoll_wait(s.epoll, events, 64, look_after_timeouts(&s));
        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr == NULL)
                accept_all(&s);
            else
                hear(&s, events[i].data.ptr);
        }
    }
    while (s.clients) {
        dw_flush(s.clients->c, 1000);
        drop(s.clients);
    }
    dw_writer_free(&s.w);
    dw_listener_close(s.listener);
    close(s.epoll);
    return 0;
}
