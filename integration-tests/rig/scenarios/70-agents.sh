# time limit: 480 s
# A coordinator and two agents as processes, linked over rxe. While pages move, the port goes down, and then the device is deleted: the
# link goes on over TCP, comes back to RDMA each time, and no page fails or is wrong.
export FARPAGE_JAVA_OPTS="-XX:TieredStopAtLevel=1" FARPAGE_AOT=off
work=$(mktemp -d) pids=()
coordinator=http://127.0.0.1:7400 a=http://127.0.0.1:7401 b=http://127.0.0.1:7402

finish() {
  [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true
  wait
  rdma link delete rxe9 2>/dev/null || true
  ip link delete eth9 2>/dev/null || true
  cp "$work"/*.log "$SCENARIO_OUT" || true
}
trap finish EXIT

# eventually SECONDS COMMAND...: tries until it succeeds.
eventually() {
  local until=$((SECONDS + $1))
  shift
  until "$@"; do
    [ $SECONDS -lt $until ] || { echo "in vain: $*"; curl -sS $a/api/v1/transport/status || true; return 1; }
    sleep 0.2
  done
}

# linked TRANSPORT: whether a's link to b is up over it.
linked() {
  curl -sSf $a/api/v1/links 2>/dev/null | grep -q "\"state\":\"up\",\"transport\":\"$1\""
}

start_agent() {
  "$RIG_ROOT/bin/page-agent" run --set node.id=$1 --set api.listen=127.0.0.1:$2 --set rdma.device=rxe9 \
    --set pool.exported=16MiB --set pool.staging=4MiB --set shard.idle=block >"$work/$1.log" 2>&1 &
  pids+=($!)
}

ip link add eth9 mtu 9000 type veth peer name eth9peer mtu 9000
ip address add 10.79.0.1/24 dev eth9
ip link set eth9 up
ip link set eth9peer up
rdma link add rxe9 type rxe netdev eth9

"$RIG_ROOT/bin/coordinator" run -D store.directory="$work/store" >"$work/coordinator.log" 2>&1 &
pids+=($!)
eventually 150 curl -sf -o /dev/null $coordinator/health
start_agent a 7401
start_agent b 7402
eventually 240 linked rdma
echo "# result: linked over rdma"

curl -sSf -o /dev/null $coordinator/api/v1/spaces -H 'Content-Type: application/json' \
  -d '{"name":"s","sizeBytes":1048576,"homes":["b"]}'
for page in 0 1 2 3 4 5 6 7; do
  head -c 4096 /dev/urandom >"$work/page$page"
  curl -sSf -X PUT --data-binary @"$work/page$page" -H 'Content-Type: application/octet-stream' \
    $a/api/v1/spaces/s/pages/$page
done

move_pages() {
  local moved=0
  while [ ! -e "$work/stop" ]; do
    local page=$((moved % 8))
    if ! curl -sSf --max-time 10 $a/api/v1/spaces/s/pages/$page | cmp - "$work/page$page"; then
      echo "page $page failed after $moved" >>"$work/wrong"
    fi
    moved=$((moved + 1))
  done
  echo $moved >"$work/moved"
}
move_pages >"$work/pages.log" 2>&1 &
mover=$!

ip link set eth9 down
eventually 60 linked tcp
echo "# result: port down: the link went on over tcp"
ip link set eth9 up
eventually 60 linked rdma
echo "# result: port up: the link came back to rdma"
rdma link delete rxe9
eventually 60 linked tcp
echo "# result: device deleted: the link went on over tcp"
rdma link add rxe9 type rxe netdev eth9
eventually 60 linked rdma
echo "# result: device added: the link came back to rdma"

touch "$work/stop"
wait $mover
[ ! -e "$work/wrong" ] || { cat "$work/wrong" "$work/pages.log"; exit 1; }
echo "# result: $(cat "$work/moved") pages fetched meanwhile, none failed, none wrong"
