#!/bin/sh
# examples.sh - runs the examples on a bus of their own, and has the tools of
# other implementations call the service, introspect it and watch:
#     examples.sh SOURCE FOLDER
. "$(dirname "$0")/support/script.sh"

bin=$2
pids=

stop_all()
{
    for pid in $pids; do kill "$pid" 2>/dev/null || :; done
    wait 2>/dev/null || :
    rm -rf "$scratch"
}
trap stop_all EXIT

# start NAME COMMAND...: in the background; what it says goes to $scratch/NAME
start()
{
    name=$1
    shift
    "$@" >"$scratch/$name" 2>"$scratch/$name.errors" &
    pid=$!
    pids="$pids $pid"
}

# says NAME TEXT: waits until the output of NAME holds this
says()
{
    tries=0
    until grep -q -e "$2" "$scratch/$1" 2>/dev/null; do
        tries=$((tries + 1))
        [ $tries -lt 400 ] || { cat "$scratch/$1" "$scratch/$1.errors"; fail "$1 does not say: $2"; }
        sleep 0.05
    done
}

# expect TEXT COMMAND...: what it prints holds this
expect()
{
    text=$1
    shift
    "$@" >"$scratch/out" 2>&1 || { cat "$scratch/out"; fail "failed: $*"; }
    grep -q -e "$text" "$scratch/out" || { cat "$scratch/out"; fail "not in what $1 says: $text"; }
}

# with TOOL: whether it is here; says so if not
with()
{
    command -v "$1" >/dev/null || { echo "skipped: $1 is not here"; return 1; }
}

with dbus-daemon || exit 77
start bus dbus-daemon --session --address="unix:path=$scratch/bus.socket" --nofork --print-address
says bus unix:path
DBUS_SESSION_BUS_ADDRESS="unix:path=$scratch/bus.socket"
export DBUS_SESSION_BUS_ADDRESS

expect org.freedesktop.DBus "$bin/list-names"

start monitor "$bin/monitor"
says monitor monitoring
start waiter "$bin/wait-signal"
says waiter waiting
"$bin/emit-signal" 'a value'
says waiter 'Changed from :.*: a value'
says monitor 'signal .* org.example.Sensor.Changed (s)'

# The service, called by our client and by the tools of others.
if with dbus-monitor; then
    start dbus-monitor dbus-monitor --session
    says dbus-monitor NameAcquired
fi
if with busctl; then
    start busctl-monitor busctl --address="$DBUS_SESSION_BUS_ADDRESS" --json=short monitor
    sleep 0.3 # it does not say when it is ready
fi
start service "$bin/service"
service=$pid
says service ready
[ "$("$bin/client" 2)" = 2 ] || fail "client"
name=org.example.Counter path=/org/example/Counter
if with busctl; then
    tool="busctl --address=$DBUS_SESSION_BUS_ADDRESS"
    expect 'u 5' $tool call $name $path $name Add u 3
    expect 'u 5' $tool get-property $name $path $name Count
    expect 'Changed *signal *u' $tool introspect $name $path
    expect "$path" $tool tree $name
    $tool call $name $path org.freedesktop.DBus.Peer Ping || fail "Ping"
    says busctl-monitor '"member":"Add"'
fi
if with gdbus; then
    tool="gdbus call --session --dest $name --object-path $path --method"
    expect 'uint32' $tool $name.Add 4
    expect '<uint32' $tool org.freedesktop.DBus.Properties.Get $name Count
    expect 'readonly u Count' gdbus introspect --session --dest $name --object-path $path
fi
if with dbus-send; then
    tool="dbus-send --session --print-reply --dest=$name $path"
    expect 'uint32' $tool $name.Add uint32:1
    expect 'string "[0-9a-f]' $tool org.freedesktop.DBus.Peer.GetMachineId
    "$bin/client" 1 >/dev/null
fi
if with dbus-monitor; then
    says dbus-monitor 'member=Changed'
fi
says monitor "call .* $path $name.Add (u)"
"$bin/client" quit
wait "$service" || fail "the service did not end well"

# A file, peer to peer.
head -c 5000001 /dev/urandom >"$scratch/original"
start copy "$bin/receive-file" "unix:path=$scratch/file.socket"
receiver=$pid
until [ -S "$scratch/file.socket" ]; do sleep 0.05; done
"$bin/send-file" "unix:path=$scratch/file.socket" <"$scratch/original" || fail "send-file"
wait "$receiver" || { cat "$scratch/copy.errors"; fail "receive-file"; }
cmp "$scratch/original" "$scratch/copy" || fail "the copy differs"
[ ! -e "$scratch/file.socket" ] || fail "the socket's file is left"
if "$bin/send-file" "unix:path=$scratch/none" </dev/null 2>"$scratch/out"; then
    fail "nobody is there"
fi
grep -q 'No such file' "$scratch/out" || fail "send-file does not say why"

# A server without a bus, and several of its clients at once.
address="unix:path=$scratch/server.socket"
start server "$bin/server" "$address"
server=$pid
says server guid=
for i in 1 2 3 4 5 6 7 8; do
    start "ask$i" "$bin/ask-server" "$address" Upper "hello $i"
done
for i in 1 2 3 4 5 6 7 8; do says "ask$i" "HELLO $i"; done
if "$bin/ask-server" "$address" Lower x 2>"$scratch/out"; then fail "Lower does not exist"; fi
grep -q UnknownMethod "$scratch/out" || fail "no error for Lower"
"$bin/ask-server" "$address" Quit x || fail "Quit"
wait "$server" || { cat "$scratch/server.errors"; fail "the server did not end well"; }
