# time limit: 600 s
# kind: measurement
# Pages of an encrypted space over RDMA: the benchmark's node opens each page that it fetches, beside the same agents with pages that are not
# sealed. The emulated CPU executes AES instructions in software, so the ratio is the cost on an emulated CPU, not a bound for a real one.
. "$RIG_DIR/guest/bench"

FETCH_PAGES=512 FETCH_COUNT=3000 FETCH_WARMUP=4s fetch --sealed on --mode latency --start-timeout 5m || failed=$?
sed -n 's/^ *\(latency\|farpage\|ratio\|per fetch\|every page\)/# result: \1/p' "$SCENARIO_OUT/table"
exit "${failed:-0}"
