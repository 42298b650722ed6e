# time limit: 300 s
# A guest's memory on another node over RDMA: random reads, writes, evictions and pages given up against a shadow copy.
. "$RIG_DIR/guest/cluster"

start_coordinator
start_agent home 7401 transport.mode=rdma rdma.device=rxe1
start_agent local 7402 transport.mode=rdma rdma.device=rxe2 shard.idle=adaptive
eventually 240 linked 7402 home rdma

guest() {
  curl -sSf "http://127.0.0.1:7402/api/v1/spaces/stress"
}
number() {
  guest | grep -o "\"$1\":[0-9]*" | head -n 1 | cut -d : -f 2
}
has_ended() {
  guest | grep -q '"state":"ended"'
}
curl -sSf -o /dev/null -X PUT http://127.0.0.1:7402/api/v1/spaces/stress/guest -H 'Content-Type: application/json' \
  -d "{\"socket\":\"$work/socket\",\"sizeBytes\":8388608,\"homes\":[\"home\"],\"localBytes\":2097152}"
sent=$(cat /sys/class/net/cable1/statistics/tx_packets)
"$RIG_ROOT/bin/page-bench" stress --socket "$work/socket" --memory 8MiB --threads 2 --operations "${OPERATIONS:-100000}" | tee "$work/stress.log"
eventually 30 has_ended
guest >"$SCENARIO_OUT/guest.json"
[ "$(number evictions)" -gt 1000 ]
[ $(($(cat /sys/class/net/cable1/statistics/tx_packets) - sent)) -gt 1000 ]
echo "# result: $(grep -o '"operations":[0-9]*' "$work/stress.log" | cut -d : -f 2) operations over rdma, no difference;" \
  "$(number faults) faults, $(number evictions) evictions"
