# time limit: 900 s
# lane: cable
# devices: rxe1 rxe2
# A coherent space over RDMA: processes on two nodes share a hash table with locks and a ring of messages. Both nodes are homes of each page.
ports=7430
. "$RIG_DIR/guest/cluster"

start_coordinator
start_agent a 7431 transport.mode=rdma rdma.device=rxe1
start_agent b 7432 transport.mode=rdma rdma.device=rxe2
eventually 400 linked 7431 b rdma
eventually 60 linked 7432 a rdma

cc -O2 -std=gnu11 -pthread -I "$RIG_ROOT/page-agent/src/main/c" -o "$work/coherent" "$RIG_ROOT/integration-tests/src/test/c/coherent.c"
"$RIG_ROOT/build/preload-library" "$work/preload.so"
curl -sS --fail-with-body -o /dev/stderr $coordinator/api/v1/spaces -H 'Content-Type: application/json' \
  -d '{"name":"shared","sizeBytes":1048576,"coherent":true,"replicas":2,"homes":["a","b"]}'

# attach PORT NODE: waits for a process there.
attach() {
  curl -sS --fail-with-body -o /dev/null -X PUT "http://127.0.0.1:$1/api/v1/spaces/shared/guest" -H 'Content-Type: application/json' \
    -d "{\"socket\":\"$work/socket-$2\",\"localBytes\":262144}"
}
# program NODE NODES NUMBER WORDS...: a process on a node.
program() {
  local node=$1 nodes=$2 number=$3
  shift 3
  LD_PRELOAD="$work/preload.so" FARPAGE_SOCKET="$work/socket-$node" FARPAGE_MEMFD_NAME=coherent "$work/coherent" 256 "$number" "$nodes" "$@"
}
detached() {
  ! curl -sSf $coordinator/api/v1/spaces/shared/attachments | grep -q '"node"'
}
has_ended() {
  curl -sSf "http://127.0.0.1:$1/api/v1/spaces/shared" | grep -q '"state":"ended"'
}

for what in table ring; do
  attach 7431 a
  attach 7432 b
  program b 2 1 $what 100 >"$work/$what-b.out" &
  other=$!
  program a 2 0 $what 100 | tee "$work/$what.out"
  wait $other
  eventually 60 has_ended 7431
  eventually 60 has_ended 7432
  eventually 60 detached
  echo "# result: $what over rdma: $(cat "$work/$what.out")"
done
linked 7431 b rdma
