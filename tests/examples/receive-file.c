/* receive-file.c - listens on an address, waits for send-file.c, and writes what
 * it sends to standard output:
 *     receive-file unix:path=/tmp/s > copy
 *     send-file unix:path=/tmp/s < original */

#include <dwire.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    dw_listener *listener = NULL;
    dw_conn *c = NULL;
    dw_message m;
    bool done = false;

    if (argc != 2) {
        fprintf(stderr, "usage: receive-file ADDRESS\n");
        return 2;
    }
    int code = dw_listen(&listener, argv[1], NULL);
    if (code == 0)
        code = dw_accept(listener, &c, DW_TIMEOUT_NONE);
    while (code > 0 && !done && (code = dw_receive(c, &m, DW_TIMEOUT_NONE)) > 0) {
        dw_reader r;
        size_t n;
        if (m.type == DW_METHOD_CALL && strcmp(m.member.p, "Done") == 0) {
            done = fflush(stdout) == 0;
            code = done ? dw_reply(c, &m) : dw_reply_error(c, &m, "org.example.Full", NULL);
            if (code == 0)
                code = dw_flush(c, DW_TIMEOUT_DEFAULT);
            break;
        }
        dw_reader_init(&r, &m);
        const uint8_t *piece = dw_get_byte_array(&r, &n);
        code = dw_reader_finish(&r);
        if (code == 0)
            code = fwrite(piece, 1, n, stdout) == n ? 1 : DW_E_SYSTEM;
    }
    if (!done)
        fprintf(stderr, "receive-file: %s\n", dw_error_text(code));
    dw_conn_close(c);
    dw_listener_close(listener);
    return !done;
}
