/* client.c - a client of service.c: adds its argument, and prints the sum; or
 * tells it to quit. */

#include <dwire.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME      "org.example.Counter"
#define PATH      "/org/example/Counter"
#define INTERFACE "org.example.Counter"

int main(int argc, char **argv)
{
    dw_conn *bus;
    dw_writer w;
    dw_message reply;
    dw_reader r;
    char buffer[512];
    bool quit = argc > 1 && strcmp(argv[1], "quit") == 0;

    int code = dw_connect_bus(&bus, DW_BUS_SESSION, DW_TIMEOUT_DEFAULT);
    dw_writer_init(&w, buffer, sizeof buffer, NULL);
    dw_begin_call(&w, NAME, PATH, INTERFACE, quit ? "Quit" : "Add", quit ? NULL : "u");
    if (!quit)
        dw_put_uint32(&w, (uint32_t)strtoul(argc > 1 ? argv[1] : "1", NULL, 10));
    if (code == 0)
        code = dw_finish(&w);
    if (code == 0)
        code = dw_call(bus, &w, &reply, DW_TIMEOUT_DEFAULT);
    if (code == 0 && !quit) {
        dw_reader_init(&r, &reply);
        uint32_t count = dw_get_uint32(&r);
        code = dw_reader_finish(&r);
        if (code == 0)
            printf("%u\n", (unsigned)count);
    }
    if (code == DW_E_REPLY)
        fprintf(stderr, "client: %s\n", reply.error_name.p);
    else if (code != 0)
        fprintf(stderr, "client: %s\n", dw_error_text(code));
    dw_conn_close(bus);
    return code != 0;
}
