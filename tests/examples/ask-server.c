/* ask-server.c - a client of server.c: calls a method of it with a string, and
 * prints the answer:
 *     ask-server unix:path=/tmp/s Upper hello */

#include <dwire.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    dw_conn *c;
    dw_writer w;
    dw_message reply;
    dw_reader r;
    char buffer[512], text[512];

    if (argc != 4) {
        fprintf(stderr, "usage: ask-server ADDRESS METHOD TEXT\n");
        return 2;
    }
    int code = dw_connect(&c, argv[1], 0, DW_TIMEOUT_DEFAULT);
    if (code != 0) {
        dw_connect_text(code, argv[1], text, sizeof text);
        fprintf(stderr, "ask-server: %s\n", text);
        return 1;
    }
    dw_writer_init(&w, buffer, sizeof buffer, NULL);
    dw_begin_call(&w, NULL, "/", "org.example.Server", argv[2], "s");
    dw_put_string(&w, argv[3]);
    code = dw_finish(&w);
    if (code == 0)
        code = dw_call(c, &w, &reply, DW_TIMEOUT_DEFAULT);
    if (code == 0) {
        dw_reader_init(&r, &reply);
        if (dw_more(&r))
            puts(dw_get_string(&r).p);
        code = dw_reader_finish(&r);
    }
    if (code != 0)
        fprintf(stderr, "ask-server: %s\n",
                code == DW_E_REPLY ? reply.error_name.p : dw_error_text(code));
    dw_conn_close(c);
    return code != 0;
}
