/* list-names.c - lists the names on the session bus, with their owners' process ids. */

#include <dwire.h>
#include <stdio.h>

/* The process behind a name; 0 if that cannot be told. */
static uint32_t pid_of(dw_conn *bus, dw_writer *w, const char *name)
{
    dw_message reply;
    dw_reader r;
    dw_begin_call(w, DW_BUS_NAME, DW_BUS_PATH, DW_BUS_INTERFACE, "GetConnectionUnixProcessID", "s");
    dw_put_string(w, name);
    dw_finish(w);
    if (dw_call(bus, w, &reply, DW_TIMEOUT_DEFAULT) != 0)
        return 0;
    dw_reader_init(&r, &reply);
    uint32_t pid = dw_get_uint32(&r);
    return dw_reader_finish(&r) == 0 ? pid : 0;
}

int main(void)
{
    dw_conn *bus;
    dw_writer w;
    dw_message reply, names = {0};
    dw_reader r;

    int code = dw_connect_bus(&bus, DW_BUS_SESSION, DW_TIMEOUT_DEFAULT);
    dw_writer_init(&w, NULL, 0, dw_heap);
    dw_begin_call(&w, DW_BUS_NAME, DW_BUS_PATH, DW_BUS_INTERFACE, "ListNames", NULL);
    dw_finish(&w);
    if (code == 0)
        code = dw_call(bus, &w, &reply, DW_TIMEOUT_DEFAULT);
    if (code == 0) /* the reply itself is gone with the next call */
        code = dw_message_copy(&names, &reply, dw_heap);
    if (code == 0) {
        dw_reader_init(&r, &names);
        dw_enter_array(&r);
        while (dw_more(&r)) {
            dw_string name = dw_get_string(&r);
            printf("%7u  %s\n", (unsigned)pid_of(bus, &w, name.p), name.p);
        }
        dw_leave_array(&r);
        code = dw_reader_finish(&r);
        dw_message_free(&names, dw_heap);
    }
    if (code != 0)
        fprintf(stderr, "list-names: %s\n", dw_error_text(code));
    dw_writer_free(&w);
    dw_conn_close(bus);
    return code != 0;
}
