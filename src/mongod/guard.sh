# Runs the command given as arguments and ends it when the process that started this script is gone.
#
# The other end of standard input is held by that process and by no one else, so the input ends when
# it lets go or dies, even by `kill -9`. Until then each line is a signal to pass on. This needs no
# more than a POSIX shell, where a parent-death signal would need Linux and unsafe code.
#
#   TAILWATER_LAST_SIGNAL  what to send when the input ends: TERM, or KILL where the data is not kept
#   TAILWATER_CONTAINER    the container that the command runs, when it is `docker run`
#   TAILWATER_REMOVE       a folder to remove at the end

exec 3<&0
"$@" </dev/null 3<&- &
child=$!

send() {
    if [ -n "$TAILWATER_CONTAINER" ]; then
        # Killing the client would leave the container; before it runs there is only the client.
        docker kill --signal "$1" "$TAILWATER_CONTAINER" >/dev/null 2>&1 || kill -s TERM "$child"
    else
        kill -s "$1" "$child"
    fi
} 2>/dev/null

watch() {
    while read -r signal; do
        send "$signal"
    done
    send "$TAILWATER_LAST_SIGNAL"
    send CONT
    tenths=0
    while [ "$tenths" -lt 100 ]; do
        sleep 0.1
        tenths=$((tenths + 1))
    done
    send KILL
}

watch <&3 &
watcher=$!
exec 3<&-
wait "$child"
status=$?
kill "$watcher" 2>/dev/null
if [ -n "$TAILWATER_CONTAINER" ]; then
    docker rm --force "$TAILWATER_CONTAINER" >/dev/null 2>&1
fi
if [ -n "$TAILWATER_REMOVE" ]; then
    rm -rf -- "$TAILWATER_REMOVE"
fi
exit "$status"
