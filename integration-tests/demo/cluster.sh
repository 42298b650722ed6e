# A coordinator and two agents on this machine, and what they say over REST.

# await SECONDS WHAT COMMAND...: until the command succeeds.
await() {
  local tries=$(($1 * 10)) what=$2
  shift 2
  until "$@"; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || fail "$what; logs in $target"
    sleep 0.1
  done
}

# Processes of the cluster, by name.
declare -A cluster=()

# launch NAME PROGRAM ARGUMENTS...: in the background, with its log and the file of its port in the target directory.
launch() {
  local name=$1 program=$2
  shift 2
  rm -f "$target/$name.port"
  "$root/bin/$program" run --port-file "$target/$name.port" "$@" >"$target/$name.log" 2>&1 &
  cluster[$name]=$!
  await 180 "the $name is not up" test -s "$target/$name.port"
}

# Fails if one of them has ended: the guest would wait for it for ever.
require_cluster() {
  local name
  for name in "${!cluster[@]}"; do
    kill -0 "${cluster[$name]}" 2>/dev/null || fail "the process '$name' has ended: $(tail -n 1 "$target/$name.log")"
  done
}

# url NAME: of its REST API.
url() {
  echo "http://127.0.0.1:$(cat "$target/$1.port")"
}

# has_links NAME NUMBER: whether that agent has so many links, or more.
has_links() {
  [ "$(curl -fsS "$(url "$1")/api/v1/links" 2>/dev/null | grep -o '"state" *: *"up"' | wc -l)" -ge "$2" ]
}

start_cluster() {
  launch coordinator coordinator --set server.listen=127.0.0.1:0 --set store.directory="$target/store"
  local common=(--set coordinator.url="$(url coordinator)" --set api.listen=127.0.0.1:0)
  [ -z "$device" ] || common+=(--set transport.mode=rdma --set rdma.device="$device")
  launch home page-agent "${common[@]}" --set node.id=home --set api.socket="$target/home.sock" --set pool.exported="$space"
  launch local page-agent "${common[@]}" --set node.id=local --set api.socket="$target/local.sock" --set pool.exported=2MiB
  await 60 "the two agents have no link" has_links local 1
}

# start_agent NAME [SETTING=VALUE...]: an agent of that name, which may have run before.
start_agent() {
  local name=$1 settings=() one
  shift
  for one in "$@"; do settings+=(--set "$one"); done
  launch "$name" page-agent --set coordinator.url="$(url coordinator)" --set api.listen=127.0.0.1:0 --set node.id="$name" \
    --set api.socket="$target/$name.sock" ${device:+--set transport.mode=rdma --set rdma.device="$device"} "${settings[@]}"
}

# end_process NAME SIGNAL: and waits for its end.
end_process() {
  kill "-$2" "${cluster[$1]}"
  wait "${cluster[$1]}" 2>/dev/null || true
  unset "cluster[$1]"
}

# start_keeper NAME: for the agent of that name.
start_keeper() {
  "$root/bin/page-agent" keeper --set node.id="$1" --set keeper.socket="$sockets/$1.keeper" >"$target/$1.keeper.log" 2>&1 &
  cluster[$1.keeper]=$!
  await 60 "the keeper of '$1' does not listen" grep -qs listening "$target/$1.keeper.log"
}

# metric NAME: of the coordinator.
metric() {
  curl -fsS "$(url coordinator)/metrics" | awk -v name="$1" '$1 == name { printf "%d", $2 }'
}

is_whole() {
  [ "$(metric farpage_coordinator_extents_degraded)" = 0 ]
}

# spaces: the local agent's account of its guests.
spaces() {
  curl -fsS --max-time 5 "$(url local)/api/v1/spaces"
}

# Whether the agent has noticed the end of the guest and brought home what its memory held.
is_over() {
  spaces 2>/dev/null | grep -q '"state" *: *"ended"'
}

# number KEY JSON: the first number of that name; 0 if there is none.
number() {
  local found
  found=$(grep -o "\"$1\" *: *[0-9]*" <<<"$2" | head -n 1 | grep -o '[0-9]*$' || true)
  echo "${found:-0}"
}
