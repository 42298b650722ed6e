# time limit: 600 s
# The fetch benchmark, agent to agent, beside perftest on the same device, in turn: 4 KiB, one page at a time and sixteen. The fetching
# node has the optimising compiler, as in production, and warms up until it has little left to do. The report stays in report/.
# FETCH_BOUNDS=p50=1.12,p99=1.3,throughput=0.9,allocated=0 holds all figures to their bounds, which takes a machine that does nothing else.

# The node that fetches is compiled once, by the optimising compiler: the code that replaces other code while a thread runs it may be seen half
# written on an emulated CPU, which ends the JVM. The others serve from the kernel or look on: they leave the CPUs to the one that counts.
# A JVM that dies says why in the node's log, and in hs_err.
launchers=$(mktemp -d)
launcher() {
  printf '#!/bin/bash\nFARPAGE_JAVA_OPTS="$FARPAGE_JAVA_OPTS %s" exec %q/bin/%s "$@"\n' "$2" "$RIG_ROOT" "$1" >"$launchers/$1"
}
launcher coordinator -XX:TieredStopAtLevel=1
launcher page-agent -XX:TieredStopAtLevel=1
launcher page-bench '-XX:TieredStopAtLevel=4 -XX:-TieredCompilation'
chmod +x "$launchers"/*

export FARPAGE_JAVA_OPTS="-Dfarpage.bin=$launchers -XX:ErrorFile=$SCENARIO_OUT/hs_err_%p.log -XX:+DisplayVMOutputToStderr"
FARPAGE_JAVA_OPTS="$FARPAGE_JAVA_OPTS -XX:TieredStopAtLevel=1" \
  "$RIG_ROOT/bin/page-bench" fetch --transport rdma --device rxe0 --gid-index 1 --baseline perftest --idle spin --depth 16 \
  --pages 2048 --rounds "${FETCH_ROUNDS:-3}" --count 9000 --warmup 12s --report "$SCENARIO_OUT/report" --cpus "${FETCH_CPUS:-0,1}" \
  --bounds "${FETCH_BOUNDS:-allocated=0}" >"$SCENARIO_OUT/table" || failed=$?
sed -n 's/^ *\(latency\|throughput\|farpage\|ib_\|ratio\|per fetch\|every page\)/# result: \1/p' "$SCENARIO_OUT/table"
exit "${failed:-0}"
