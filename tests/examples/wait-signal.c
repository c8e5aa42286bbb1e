/* wait-signal.c - waits for the signal of emit-signal.c, and prints its value. */

#include <dwire.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    dw_conn *bus;
    dw_message m;
    dw_reader r;

    int code = dw_connect_bus(&bus, DW_BUS_SESSION, DW_TIMEOUT_DEFAULT);
    if (code == 0)
        code = dw_add_match(bus, "type='signal',interface='org.example.Sensor',member='Changed'",
                            DW_TIMEOUT_DEFAULT, NULL);
    if (code == 0) {
        puts("waiting");
        fflush(stdout);
    }
    while (code == 0 && (code = dw_receive(bus, &m, DW_TIMEOUT_NONE)) > 0) {
        if (strcmp(m.member.p, "Changed") != 0) { /* the bus has signals of its own */
            code = 0;
            continue;
        }
        dw_reader_init(&r, &m);
        dw_string value = dw_get_string(&r);
        code = dw_reader_finish(&r);
        if (code == 0)
            printf("%s from %s: %s\n", m.member.p, m.sender.p, value.p);
        break;
    }
    if (code != 0)
        fprintf(stderr, "wait-signal: %s\n", dw_error_text(code));
    dw_conn_close(bus);
    return code != 0;
}
