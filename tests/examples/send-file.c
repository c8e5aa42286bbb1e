/* send-file.c - sends standard input to receive-file.c, in pieces of 4,096 bytes,
 * a message each; shows how far it is if standard error is a terminal. */

#define _POSIX_C_SOURCE 200809L

#include <dwire.h>
#include <stdio.h>
#include <unistd.h>

enum { PIECE = 4096, BATCH = 32 };

static void begin(dw_writer *w, uint8_t type, const char *member, const char *signature)
{
    dw_begin(w, &(dw_header){.type = type,
                             .path = "/org/example/File",
                             .interface = "org.example.File",
                             .member = member,
                             .signature = signature});
}

/* Queues the pieces, and writes many of them at once. */
static int send_all(dw_conn *c, dw_writer *w)
{
    static uint8_t piece[PIECE];
    bool terminal = isatty(STDERR_FILENO);
    unsigned long long sent = 0;
    size_t n;
    for (unsigned i = 1; (n = fread(piece, 1, PIECE, stdin)) > 0; i++) {
        begin(w, DW_SIGNAL, "Piece", "ay");
        dw_put_byte_array(w, piece, n);
        int code = dw_finish(w);
        if (code == 0)
            code = dw_queue(c, w, NULL);
        if (code == 0 && i % BATCH == 0)
            code = dw_flush(c, DW_TIMEOUT_NONE);
        if (code != 0)
            return code;
        sent += n;
        if (terminal && i % 4096 == 0)
            fprintf(stderr, "\r%llu MiB", sent >> 20);
    }
    if (terminal)
        fprintf(stderr, "\r%llu bytes\n", sent);
    return ferror(stdin) ? DW_E_SYSTEM : 0;
}

int main(int argc, char **argv)
{
    dw_conn *c;
    dw_writer w;
    dw_message reply;
    char text[512];

    if (argc != 2) {
        fprintf(stderr, "usage: send-file ADDRESS\n");
        return 2;
    }
    int code = dw_connect(&c, argv[1], 0, DW_TIMEOUT_DEFAULT);
    if (code != 0) {
        dw_connect_text(code, argv[1], text, sizeof text);
        fprintf(stderr, "send-file: %s\n", text);
        return 1;
    }
    dw_writer_init(&w, NULL, 0, dw_heap);
    code = send_all(c, &w);
    begin(&w, DW_METHOD_CALL, "Done", NULL);
    dw_finish(&w);
    if (code == 0) /* the answer says that all has arrived */
        code = dw_call(c, &w, &reply, DW_TIMEOUT_NONE);
    if (code != 0)
        fprintf(stderr, "send-file: %s\n", dw_error_text(code));
    dw_writer_free(&w);
    dw_conn_close(c);
    return code != 0;
}
