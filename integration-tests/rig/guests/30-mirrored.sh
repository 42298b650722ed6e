# time limit: 600 s
# Two copies of a guest's pages over RDMA, while the guest reads, writes and gives pages up against a shadow copy: one of the two homes is killed and
# a third takes its place; then the device is deleted under the other one, whose link goes on over TCP and comes back. No page is wrong or lost.
. "$RIG_DIR/guest/cluster"
finish() {
  rdma link add rxe1 type rxe netdev cable1 2>/dev/null || true
  end_cluster
}
trap finish EXIT

start_coordinator
# The device of home 'two' is its own: it is deleted. Its links go on over TCP then.
start_agent one 7401 rdma.device=rxe2
one=${pids[-1]}
start_agent two 7402 rdma.device=rxe1
start_agent three 7403 rdma.device=rxe2
# Its pool is too small for a copy, so that home 'three' is the only spare.
start_agent local 7404 rdma.device=rxe2 shard.idle=adaptive pool.exported=2MiB
for home in one two three; do
  eventually 240 linked 7404 $home rdma
done

guest() {
  curl -sSf "http://127.0.0.1:7404/api/v1/spaces/mirrored"
}
number() {
  guest | grep -o "\"$1\":[0-9]*" | head -n 1 | cut -d : -f 2
}
has_ended() {
  guest | grep -q '"state":"ended"'
}
# metric NAME: of the coordinator.
metric() {
  curl -sSf $coordinator/metrics | awk -v name="$1" '$1 == name { printf "%d", $2 }'
}
is_degraded() {
  [ "$(metric farpage_coordinator_extents_degraded)" -gt 0 ]
}
is_whole() {
  ! is_degraded && [ "$(metric farpage_coordinator_extents_joining)" = 0 ]
}
# moved COUNT: whether COUNT pages have been evicted since the last count.
moved() {
  kill -0 $stress || { cat "$work/stress.log"; exit 1; } # it ends at the first page that differs
  [ "$(number evictions)" -ge $((evictions + $1)) ]
}
# goes_on WHAT: waits until the guest has had some more pages evicted.
goes_on() {
  evictions=$(number evictions)
  eventually 90 moved 200
  echo "# result: $1; the guest goes on"
}

curl -sS --fail-with-body -o /dev/stderr -X PUT http://127.0.0.1:7404/api/v1/spaces/mirrored/guest -H 'Content-Type: application/json' \
  -d "{\"socket\":\"$work/socket\",\"sizeBytes\":8388608,\"homes\":[\"one\",\"two\"],\"replicas\":2,\"localBytes\":2097152}"
sent=$(cat /sys/class/net/cable2/statistics/tx_packets)
# It is ended below, and would go on for longer than the scenario may.
"$RIG_ROOT/bin/page-bench" stress --socket "$work/socket" --memory 8MiB --threads 2 --operations 1000000000 --timeout 1h >"$work/stress.log" 2>&1 &
stress=$!
pids+=($stress)
eventually 60 guest
goes_on "two copies over rdma"
[ $(($(cat /sys/class/net/cable2/statistics/tx_packets) - sent)) -gt 100 ]

kill -KILL $one
eventually 90 is_degraded
goes_on "home 'one' killed"
eventually 120 is_whole
goes_on "copies are whole again, with home 'three'"

rdma link delete rxe1
eventually 60 linked 7404 two tcp
goes_on "device of home 'two' deleted, its link is over tcp"
rdma link add rxe1 type rxe netdev cable1
eventually 120 linked 7404 two rdma
eventually 120 is_whole
goes_on "device added, its link is over rdma"

[ "$(number lostPages)" = 0 ]
guest >"$SCENARIO_OUT/guest.json"
kill $stress
eventually 60 has_ended
echo "# result: $(number faults) faults, $(number evictions) evictions, $(number repairedPages) pages copied by the repair; no page wrong or lost"
