# time limit: 480 s
# The fetch benchmark's own node beside perftest on the same device, in turn: agent to agent, 4 KiB, one page at a time and sixteen.
export FARPAGE_JAVA_OPTS="-XX:TieredStopAtLevel=1" FARPAGE_AOT=off
rounds=${FETCH_ROUNDS:-5} work=$(mktemp -d) pids=()

finish() {
  [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true
  wait
  cp "$work"/*.log "$SCENARIO_OUT" || true
}
trap finish EXIT

# await FILE: until it is there.
await() {
  for _ in $(seq 900); do
    [ ! -s "$1" ] || return 0
    sleep 0.2
  done
  echo "no $1"
  return 1
}

# perftest PROGRAM ARGUMENTS: the last line of its table.
perftest() {
  local program=$1
  shift
  timeout 60 "$program" -d rxe0 -x 1 -F -s 4096 "$@" >/dev/null &
  local server=$!
  sleep 1
  timeout 60 "$program" -d rxe0 -x 1 -F -s 4096 "$@" 127.0.0.1 | grep '^ *4096 '
  wait $server
}

# settings DEPTH VERIFICATION: what page-bench fetch-node is started with.
settings() {
  cat <<EOF
{"home":"home","space":"depth-$1","pages":2048,"pageSize":4096,"depth":$1,"pattern":"RANDOM","zipfExponent":1,"seed":1,"verification":"$2","agent":{"node.id":"fetcher-$1","api.listen":"127.0.0.1:0","coordinator.url":"$coordinator","transport.mode":"rdma","rdma.device":"rxe0","rdma.gid_index":"1","link.grace":"0ms","rdma.max_send_wr":"32","rdma.max_rd_atomic":"16","pool.exported":"2MiB","pool.staging":"8MiB","shard.idle":"spin","fetch.deadline":"10s"}}
EOF
}

# measure DEPTH VERIFICATION READS PERFTEST...: rounds of both in turn, as lines "ours ANSWER" and "perftest LINE".
measure() {
  local depth=$1 verification=$2 reads=$3 line to from
  shift 3
  coproc NODE { exec "$RIG_ROOT/bin/page-bench" fetch-node "$(settings "$depth" "$verification")" 2>"$work/node-$depth.log"; }
  local node=$NODE_PID
  exec {to}>&"${NODE[1]}" {from}<&"${NODE[0]}"
  ask() {
    [ -z "$1" ] || echo "$1" >&$to
    read -r -t 120 line <&$from
    case $line in *'"failed"'*) echo "$line" >&2; return 1 ;; esac
  }
  ask ''
  ask '{"order":"fill"}'
  ask '{"order":"run","warmup":0,"count":20000,"millis":0}'
  for _ in $(seq "$rounds"); do
    echo "perftest-$depth $(perftest "$@")"
    # While the other is measured this one has nothing under way, and sleeps.
    ask '{"order":"run","warmup":200,"count":'"$reads"',"millis":0}'
    echo "ours-$depth $line"
  done
  echo '{"order":"quit"}' >&$to
  exec {to}>&- {from}<&-
  wait "$node"
}

"$RIG_ROOT/bin/coordinator" run -D store.directory="$work/store" -D server.listen=127.0.0.1:0 \
  --port-file "$work/coordinator.port" >"$work/coordinator.log" 2>&1 &
pids+=($!)
await "$work/coordinator.port"
coordinator=http://127.0.0.1:$(cat "$work/coordinator.port")
"$RIG_ROOT/bin/page-agent" run --set node.id=home --set api.listen=127.0.0.1:0 --set coordinator.url="$coordinator" \
  --set transport.mode=rdma --set rdma.device=rxe0 --set rdma.gid_index=1 --set link.grace=0ms --set pool.exported=32MiB \
  --set pool.staging=2MiB --set rdma.max_send_wr=32 --set shard.idle=block --port-file "$work/home.port" >"$work/home.log" 2>&1 &
pids+=($!)
await "$work/home.port"

{
  measure 1 FULL 3000 ib_read_lat -o 1 -n 3000
  measure 16 ENDS 10000 ib_read_bw -t 16 -o 16 -n 10000
} >"$SCENARIO_OUT/rounds"
awk -f "$RIG_DIR/guest/fetch-ratios.awk" "$SCENARIO_OUT/rounds"
