# time limit: 300 s
# kind: measurement
# READs of 4 KiB through the provider beside perftest's on the same device, in turn, each pair one right after the other.
# With the optimising compiler, as in production, alone (see 90-fetch), and warmed up until it has nothing left to do.
devices=${LATENCY_DEVICES:-rxe0 rxe0} rounds=${LATENCY_ROUNDS:-3}

coproc LOOP { exec java "${java_flags[@]/-XX:TieredStopAtLevel=1/-XX:-TieredCompilation}" -cp "$RIG_CLASSPATH" io.farpage.verbs.ibverbs.ReadLoop $devices; }
exec {to}>&"${LOOP[1]}" {from}<&"${LOOP[0]}"

# ours DEPTH READS: the loop's line.
ours() {
  echo "$1 $2" >&$to
  local line
  read -r -t 120 line <&$from
  echo "$line"
}

# perftest PROGRAM ARGUMENTS: the last line of its table.
perftest() {
  local program=$1
  shift
  timeout 60 "$program" -d rxe0 -x 1 -F -s 4096 "$@" >/dev/null &
  until [ -n "$(ss -Hltn "sport = :18515")" ]; do sleep 0.2; done
  timeout 60 "$program" -d rxe0 -x 1 -F -s 4096 "$@" 127.0.0.1 | grep '^ *4096 '
  wait $!
}

echo "warm-up $(ours 1 30000)"
for round in $(seq "$rounds"); do
  echo "ib_read_lat $(perftest ib_read_lat -o 1 -n 3000)"
  echo "ours-1 $(ours 1 3000)"
  echo "ib_read_bw $(perftest ib_read_bw -t 16 -o 16 -n 10000)"
  echo "ours-16 $(ours 16 10000)"
done | tee "$SCENARIO_OUT/rounds"
echo >&$to
wait "$LOOP_PID"
awk -f "$RIG_DIR/guest/ratios.awk" "$SCENARIO_OUT/rounds"
