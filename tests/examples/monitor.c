/* monitor.c - prints what passes over the session bus, a line a message. */

#include <dwire.h>
#include <stdio.h>

static const char *const types[] = {"?", "call", "return", "error", "signal"};

static const char *or_none(dw_string s)
{
    return s.n > 0 ? s.p : "-";
}

static void print(const dw_message *m)
{
    printf("%-6s %u %s -> %s", types[m->type], (unsigned)m->serial, or_none(m->sender),
           or_none(m->destination));
    if (m->path.n > 0)
        printf(" %s %s.%s", m->path.p, or_none(m->interface), m->member.p);
    if (m->error_name.n > 0)
        printf(" %s", m->error_name.p);
    if (m->reply_serial != 0)
        printf(" to %u", (unsigned)m->reply_serial);
    printf(" (%s)\n", m->signature.p);
    fflush(stdout);
}

int main(void)
{
    dw_writer w;
    dw_message m;
    char buffer[512];
    dw_conn *bus;
    char address[1024];

    int code = dw_bus_address(DW_BUS_SESSION, address, sizeof address);
    /* A monitor must not send anything, not even answers of org.freedesktop.DBus.Peer. */
    bus = NULL;
    if (code == 0)
        code = dw_connect(&bus, address, DW_CONN_BUS | DW_CONN_NO_PEER, DW_TIMEOUT_DEFAULT);
    dw_writer_init(&w, buffer, sizeof buffer, NULL);
    dw_begin_call(&w, DW_BUS_NAME, DW_BUS_PATH, "org.freedesktop.DBus.Monitoring", "BecomeMonitor",
                  "asu");
    dw_put_string_array(&w, NULL, 0); /* no rules: everything */
    dw_put_uint32(&w, 0);
    if (code == 0)
        code = dw_finish(&w);
    if (code == 0)
        code = dw_call(bus, &w, &m, DW_TIMEOUT_DEFAULT);
    if (code == 0) {
        puts("monitoring");
        fflush(stdout);
        while ((code = dw_receive(bus, &m, DW_TIMEOUT_NONE)) > 0)
            print(&m);
    }
    if (code != DW_E_CLOSED) /* the bus has ended, and so do we */
        fprintf(stderr, "monitor: %s\n", dw_error_text(code));
    dw_conn_close(bus);
    return code != DW_E_CLOSED;
}
