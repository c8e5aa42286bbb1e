/* tools.c - the command line tools of others and a service by dwire: they call
 * it, introspect it and see what it says, on dbus-daemon, on dbus-broker, and
 * peer to peer. */

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "../bench/bus.h"
#include "../bench/process.h"
#include "dwire/bus.h"
#include "service.h"
#include "support/ends.h"
#include "support/text.h"

enum { LIFE_SECONDS = 100, PATIENCE_MS = 20000, TRIES = 400, MOMENT_US = 50000 };

static char folder[64];
static bus the_bus;
static pid_t service;

/* -- Other programs -------------------------------------------------------------------- */

static bool is_here(const char *tool)
{
    text command = {0};
    text_printf(&command, "command -v %s >/dev/null", tool);
    int status = system(text_string(&command));
    text_free(&command);
    return status == 0;
}

/* Skips the test where the bus or the tool is not here. */
static void need(const char *tool)
{
    if (the_bus.pid == 0)
        skip();
    if (!is_here(tool)) {
        print_message("skipped: %s is not here\n", tool);
        skip();
    }
}

typedef struct program {
    pid_t pid;
    int out;
    text said;
} program;

/* Starts a line of shell; what it says comes through a pipe. */
static void program_start(program *p, const char *line)
{
    text command = {0};
    int out[2];
    text_printf(&command, "exec 2>&1; exec %s", line);
    char *argv[] = {"sh", "-c", command.p, NULL};
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    *p = (program){.pid = process_start(argv, -1, out[1], false), .out = out[0]};
    close(out[1]);
    text_free(&command);
    assert_true(p->pid > 0);
}

/* Reads on. False at the end. */
static bool program_read(program *p, int timeout_ms)
{
    struct pollfd one = {.fd = p->out, .events = POLLIN};
    if (poll(&one, 1, timeout_ms) != 1)
        return true;
    ssize_t n = read(p->out, text_room(&p->said, 4096), 4096);
    p->said.n += n > 0 ? (size_t)n : 0;
    if (p->said.p)
        p->said.p[p->said.n] = '\0';
    return n > 0;
}

static void program_end(program *p)
{
    close(p->out);
    process_end(p->pid);
    text_free(&p->said);
}

/* Runs it to its end, which must have that status, and expects it to say this. */
static void expect_output(const char *line, int status, const char *expected)
{
    program p;
    program_start(&p, line);
    while (program_read(&p, PATIENCE_MS))
        ;
    close(p.out);
    int came = process_wait(p.pid);
    if ((came == 0) != (status == 0) || !strstr(text_string(&p.said), expected))
        fail_msg("%s: ended with %d and said \"%s\", not \"%s\"", line, came, text_string(&p.said),
                 expected);
    text_free(&p.said);
}

/* -- The service ------------------------------------------------------------------------ */

/* The service, in a process of its own: of a bus, or of the one client of a listener. */
static void be_service(pid_t parent, dw_listener *l, int ready)
{
    dw_conn *c;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(LIFE_SECONDS);
    if (getppid() != parent)
        _exit(1);
    int code = l ? dw_accept(l, &c, DW_TIMEOUT_NONE)
                 : dw_connect(&c, the_bus.address, DW_CONN_BUS, DW_TIMEOUT_DEFAULT);
    if (code >= 0 && !l)
        code = dw_request_name(c, PEER_NAME, 0, DW_TIMEOUT_DEFAULT, NULL);
    if (code >= 0 && (l || peer_ready(ready)))
        code = service_run(c);
    _exit(code != DW_E_CLOSED);
}

static bool start_service(dw_listener *l)
{
    int ready[2];
    char byte;
    pid_t parent = getpid();
    if (pipe2(ready, O_CLOEXEC) != 0)
        return false;
    fflush(NULL);
    service = fork();
    if (service == 0)
        be_service(parent, l, ready[1]);
    close(ready[1]);
    bool good = service > 0 && (l || read(ready[0], &byte, 1) == 1);
    close(ready[0]);
    return good;
}

static int start(const char *name)
{
    strcpy(folder, "/tmp/dwire-tools-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    if (!bus_start(&the_bus, name, folder)) {
        print_message("skipped: %s is not here\n", name);
        return 0;
    }
    setenv("BUS", the_bus.address, 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    return start_service(NULL) ? 0 : -1;
}

static int start_daemon(void **state)
{
    (void)state;
    return start("dbus-daemon");
}

static int start_broker(void **state)
{
    (void)state;
    return start("dbus-broker");
}

/* The service ends with the bus. */
static int stop(void **state)
{
    (void)state;
    bool was_here = the_bus.pid > 0;
    bus_stop(&the_bus);
    return rmdir(folder) | (was_here ? process_wait(service) : 0);
}

/* -- Calls ------------------------------------------------------------------------------ */

#define BUSCTL "busctl --address=\"$BUS\" "
#define TARGET " " PEER_NAME " " PEER_PATH " "

static void busctl_calls(void **state)
{
    (void)state;
    need("busctl");
    expect_output(BUSCTL "-- call" TARGET PEER_INTERFACE
                         " Echo 'ybnqiuxtdsogaya{sv}a(isas)vav' 255 true -32768 65535 -2147483648 "
                         "4294967295 -9223372036854775808 18446744073709551615 0.5 'a b' "
                         "/a/b 'a{sv}' 0 2 x u 1 y as 2 a b 1 -1 z 0 '(su)' v 8 0",
                  0,
                  "ybnqiuxtdsogaya{sv}a(isas)vav 255 true -32768 65535 -2147483648 4294967295 "
                  "-9223372036854775808 18446744073709551615 0.5 \"a b\" \"/a/b\" "
                  "\"a{sv}\" 0 2 \"x\" u 1 \"y\" as 2 \"a\" \"b\" 1 -1 \"z\" 0 (su) \"v\" 8 0\n");
    expect_output(BUSCTL "--json=short call" TARGET PEER_INTERFACE " Echo s 'gr\u00fc\u00df'", 0,
                  "\"gr\u00fc\u00df\"");
    expect_output(BUSCTL "call" TARGET PEER_INTERFACE " Echo", 0, "");
    expect_output(BUSCTL "call" TARGET PEER_INTERFACE " Fail", 1, PEER_ERROR_TEXT);
    expect_output(BUSCTL "get-property" TARGET PEER_INTERFACE " Level", 0, "i 7\n");
    expect_output(BUSCTL "-- set-property" TARGET PEER_INTERFACE " Level i -3", 0, "");
    expect_output(BUSCTL "get-property" TARGET PEER_INTERFACE " Level", 0, "i -3\n");
    expect_output(BUSCTL "call" TARGET "org.freedesktop.DBus.Peer Ping", 0, "");
    expect_output(BUSCTL "introspect" TARGET PEER_INTERFACE " | tr -s ' '", 0, ".Said signal s");
    expect_output(BUSCTL "introspect" TARGET PEER_INTERFACE " | tr -s ' '", 0, ".Level property i");
    expect_output(BUSCTL "tree " PEER_NAME, 0, PEER_PATH);
    expect_output(BUSCTL "list", 0, PEER_NAME);
}

#define GDBUS(command) "gdbus " command " --address \"$BUS\" --dest " PEER_NAME " "
#define OBJECT         "--object-path " PEER_PATH " "

static void gdbus_calls(void **state)
{
    (void)state;
    need("gdbus");
    expect_output(GDBUS("call") OBJECT
                  "--method " PEER_INTERFACE ".Echo 'byte 0xff' true 'int16 -32768' 'uint16 65535' "
                  "-- -2147483648 'uint32 4294967295' "
                  "'int64 -9223372036854775808' "
                  "'uint64 18446744073709551615' 0.5 \"'gr\u00fc\u00df'\" "
                  "\"objectpath '/a/b'\" \"signature 'a{sv}'\" '@ay []' "
                  "\"{'x': <uint32 1>}\" \"[(1, 'z', @as [])]\" \"<('v', 8)>\"",
                  0,
                  "(byte 0xff, true, int16 -32768, uint16 65535, -2147483648, uint32 4294967295, "
                  "int64 -9223372036854775808, uint64 18446744073709551615, 0.5, 'gr\u00fc\u00df', "
                  "objectpath '/a/b', signature 'a{sv}', @ay [], {'x': <uint32 1>}, "
                  "[(1, 'z', @as [])], <('v', 8)>)\n");
    expect_output(GDBUS("call") OBJECT "--method " PEER_INTERFACE ".Fail", 1, PEER_ERROR_TEXT);
    expect_output(GDBUS("call") OBJECT
                  "--method org.freedesktop.DBus.Properties.GetAll " PEER_INTERFACE,
                  0, "({'Level': <");
    expect_output(GDBUS("introspect") OBJECT, 0, "readwrite i Level = ");
    expect_output(GDBUS("introspect") OBJECT, 0, "Said(s text);");
    expect_output(GDBUS("introspect") "--recurse --object-path /", 0, "node " PEER_PATH);
    expect_output("gdbus wait --address \"$BUS\" --timeout 10 " PEER_NAME, 0, "");
}

#define DBUS_SEND_VALUES                                                                           \
    PEER_PATH " " PEER_INTERFACE ".Echo byte:255 boolean:true int16:-32768 uint16:65535 "          \
              "int32:-2147483648 uint32:4294967295 int64:-9223372036854775808 "                    \
              "uint64:18446744073709551615 double:0.5 string:'gr\u00fc\u00df' objpath:/a/b "       \
              "array:string:a,b dict:string:int32:x,1 variant:uint32:9"
#define DBUS_SEND_SAYS                                                                             \
    "   byte 255\n   boolean true\n   int16 -32768\n   uint16 65535\n   int32 -2147483648\n"       \
    "   uint32 4294967295\n   int64 -9223372036854775808\n   uint64 18446744073709551615\n"        \
    "   double 0.5\n   string \"gr\u00fc\u00df\"\n   object path \"/a/b\"\n   array [\n"           \
    "      string \"a\"\n      string \"b\"\n   ]\n   array [\n      dict entry(\n"                \
    "         string \"x\"\n         int32 1\n      )\n   ]\n   variant       uint32 9\n"

static void dbus_send_calls(void **state)
{
    (void)state;
    need("dbus-send");
    expect_output("dbus-send --bus=\"$BUS\" --print-reply --dest=" PEER_NAME " " DBUS_SEND_VALUES,
                  0, DBUS_SEND_SAYS);
    expect_output("dbus-send --bus=\"$BUS\" --print-reply --dest=" PEER_NAME " " PEER_PATH
                  " " PEER_INTERFACE ".Fail",
                  1, PEER_ERROR ": " PEER_ERROR_TEXT);
}

/* dbus-send without a bus, to a listener of dwire's. */
static void dbus_send_calls_peer_to_peer(void **state)
{
    (void)state;
    pid_t of_bus = service;
    dw_listener *l;
    char address[128];
    need("dbus-send");
    snprintf(address, sizeof address, "unix:path=%s/peer", folder);
    expect_code(dw_listen(&l, address, NULL), 0);
    setenv("PEER", dw_listener_address(l), 1);
    bool good = start_service(l);
    pid_t of_peer = service;
    service = of_bus;
    assert_true(good);
    expect_output("dbus-send --peer=\"$PEER\" --print-reply " DBUS_SEND_VALUES, 0, DBUS_SEND_SAYS);
    dw_listener_close(l);
    assert_int_equal(process_wait(of_peer), 0);
}

/* -- Monitors --------------------------------------------------------------------------- */

/* What monitors say when they are ready differs, so the service is made to say
 * something until it is seen. */
static void sees(const char *line, const char *expected)
{
    program p;
    dw_conn *c;
    dw_writer w;
    dw_message reply;
    bool more = true, seen = false;
    dw_writer_init(&w, NULL, 0, dw_heap);
    expect_code(dw_connect(&c, the_bus.address, DW_CONN_BUS, DW_TIMEOUT_DEFAULT), 0);
    program_start(&p, line);
    for (int i = 0; more && !seen && i < TRIES; i++) {
        dw_begin_call(&w, PEER_NAME, PEER_PATH, PEER_INTERFACE, "Say", "s");
        dw_put_string(&w, "gr\u00fc\u00df dich");
        expect_code(dw_finish(&w), 0);
        expect_code(dw_call(c, &w, &reply, DW_TIMEOUT_DEFAULT), 0);
        more = program_read(&p, MOMENT_US / 1000);
        seen = strstr(text_string(&p.said), expected) != NULL;
    }
    if (!seen)
        print_error("%s says \"%s\", not \"%s\"\n", line, text_string(&p.said), expected);
    program_end(&p);
    dw_conn_close(c);
    dw_writer_free(&w);
    assert_true(seen);
}

static void busctl_monitors(void **state)
{
    (void)state;
    need("busctl");
    sees(BUSCTL "monitor", "STRING \"gr\u00fc\u00df dich\";");
    sees(BUSCTL "monitor " PEER_NAME, "Interface=" PEER_INTERFACE "  Member=Said");
    sees(BUSCTL "--json=short monitor", "\"member\":\"Said\"");
}

static void dbus_monitor_monitors(void **state)
{
    (void)state;
    need("dbus-monitor");
    sees("dbus-monitor --address \"$BUS\"", "string \"gr\u00fc\u00df dich\"");
    sees("dbus-monitor --address \"$BUS\" \"type='signal',interface='" PEER_INTERFACE "'\"",
         "interface=" PEER_INTERFACE "; member=Said");
}

static void gdbus_monitors(void **state)
{
    (void)state;
    need("gdbus");
    sees("gdbus monitor --address \"$BUS\" --dest " PEER_NAME,
         PEER_PATH ": " PEER_INTERFACE ".Said ('gr\u00fc\u00df dich',)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(busctl_calls),          cmocka_unit_test(gdbus_calls),
        cmocka_unit_test(dbus_send_calls),       cmocka_unit_test(dbus_send_calls_peer_to_peer),
        cmocka_unit_test(busctl_monitors),       cmocka_unit_test(gdbus_monitors),
        cmocka_unit_test(dbus_monitor_monitors),
    };
    return cmocka_run_group_tests_name("tools on dbus-daemon", tests, start_daemon, stop) |
           cmocka_run_group_tests_name("tools on dbus-broker", tests, start_broker, stop);
}
