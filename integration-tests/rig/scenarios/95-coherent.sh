# time limit: 1500 s
# kind: measurement
# Faults of members of a coherent space over RDMA, beside a C program that sends messages of the same size over the same device, in turn.
# Five nodes and a home on one device. The report stays in report/. COHERENT_COUNT and COHERENT_ROUNDS are faults of each kind and rounds.
. "$RIG_DIR/guest/bench"

launcher page-bench '-XX:TieredStopAtLevel=1'
# As for other agents that start on emulated CPUs.
export FARPAGE_COORDINATOR_TIMEOUT=30s
FARPAGE_JAVA_OPTS="$FARPAGE_JAVA_OPTS -XX:TieredStopAtLevel=1" \
  "$RIG_ROOT/bin/page-bench" coherent --transport rdma --device rxe0 --gid-index 1 --idle block --start-timeout 10m \
  --count "${COHERENT_COUNT:-256}" --rounds "${COHERENT_ROUNDS:-6}" --warmup "${COHERENT_WARMUP:-30s}" --report "$SCENARIO_OUT/report" \
  >"$SCENARIO_OUT/table" || failed=$?
sed -n 's/^ *\([a-z0-9-]* *[0-9.,]* *[0-9.,]* *[0-9,]* *[a-z0-9-]* *[0-9.]*×\|c-messages\|every page\)/# result: \1/p' "$SCENARIO_OUT/table"
exit "${failed:-0}"
