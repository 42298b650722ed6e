# time limit: 240 s
# lane: cable
# devices: rxe1 rxe2
# page-agent doctor where there are devices, and what it says where RDMA is demanded of a device that is not there.
export FARPAGE_JAVA_OPTS="-XX:TieredStopAtLevel=1"

# doctor EXIT_CODE SETTING...: its lines, one each, in lines.
doctor() {
  local expected=$1 setting settings=() code=0
  shift
  for setting in pool.exported=16MiB pool.staging=4MiB "$@"; do settings+=(--set "$setting"); done
  "$RIG_ROOT/bin/page-agent" doctor --json "${settings[@]}" >"$SCENARIO_OUT/doctor-$expected.json" || code=$?
  lines=$(tr -d '\n' <"$SCENARIO_OUT/doctor-$expected.json" | tr '{' '\n' | tr -s ' ')
  [ $code -eq $expected ] || { echo "exit code $code instead of $expected"; echo "$lines"; return 1; }
}

# says ID LEVEL WORDS: a line of doctor has all three.
says() {
  grep "\"id\" : \"$1\"" <<<"$lines" | grep "\"level\" : \"$2\"" | grep -q "$3" || { echo "no $2 of $1 about $3 in:"; echo "$lines"; return 1; }
}

doctor 0 transport.mode=rdma
says rdma.verbs ok 'usable: rxe1, rxe2, .*rxe0, best first'
says rdma.device ok rxe0
echo "# result: rxe1, rxe2 and rxe0 are usable, exit code 0"

doctor 1 transport.mode=rdma rdma.device=mlx5_0
says rdma.verbs fail 'NO_DEVICE: none of the RDMA devices.*mlx5_0.*the agent will not start'
echo "# result: transport.mode=rdma without the device: NO_DEVICE, exit code 1"
