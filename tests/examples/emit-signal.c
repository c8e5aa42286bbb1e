/* emit-signal.c - emits a signal on the session bus, with its argument as value. */

#include <dwire.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    dw_conn *bus;
    dw_writer w;
    char buffer[4096];

    int code = dw_connect_bus(&bus, DW_BUS_SESSION, DW_TIMEOUT_DEFAULT);
    dw_writer_init(&w, buffer, sizeof buffer, NULL);
    dw_begin_signal(&w, "/org/example/Sensor", "org.example.Sensor", "Changed", "s");
    dw_put_string(&w, argc > 1 ? argv[1] : "hello");
    if (code == 0)
        code = dw_finish(&w);
    if (code == 0)
        code = dw_send(bus, &w, NULL);
    if (code == 0)
        code = dw_flush(bus, DW_TIMEOUT_DEFAULT);
    if (code != 0)
        fprintf(stderr, "emit-signal: %s\n", dw_error_text(code));
    dw_conn_close(bus);
    return code != 0;
}
