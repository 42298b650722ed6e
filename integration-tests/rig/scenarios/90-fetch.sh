# time limit: 600 s
# kind: measurement
# The fetch benchmark, agent to agent, beside perftest on the same device, in turn: 4 KiB, one page at a time and sixteen. The fetching
# node has the optimising compiler, as in production, and warms up until it has little left to do. The report stays in report/.
# FETCH_BOUNDS=p50=1.12,p99=1.3,throughput=0.9,allocated=0 holds all figures to their bounds, which takes a machine that does nothing else.
. "$RIG_DIR/guest/bench"

fetch --baseline perftest --depth 16 --bounds "${FETCH_BOUNDS:-allocated=0}" || failed=$?
sed -n 's/^ *\(latency\|throughput\|farpage\|ib_\|ratio\|per fetch\|every page\)/# result: \1/p' "$SCENARIO_OUT/table"
exit "${failed:-0}"
