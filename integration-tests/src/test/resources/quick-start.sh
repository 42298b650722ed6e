# quick-start.sh ROOT SCRATCH: runs the commands of the quick start as they are pasted, in a network and a /run of their own.
# SCRATCH/block-1 starts the coordinator, each line of SCRATCH/block-2 an agent; what SCRATCH/block-3 prints goes to standard output.
set -eu
root=$1 scratch=$2
# The commands run with no settings but their own.
for name in "${!FARPAGE_@}"; do unset "$name"; done
ip link set lo up
mount -t tmpfs none /run
cd "$root"

# await PATTERN FILE: waits until a program has written that.
await() {
  local tries=0
  until grep -q "$1" "$2"; do
    tries=$((tries + 1))
    [ $tries -lt 300 ] || { echo "no '$1' in $2:" >&2; cat "$2" >&2; exit 1; }
    sleep 0.2
  done
}

bash "$scratch/block-1" >"$scratch/coordinator.log" 2>&1 &
await 'listening' "$scratch/coordinator.log"
agents=0
while read -r command; do
  agents=$((agents + 1))
  bash -c "$command" >"$scratch/agent-$agents.log" 2>&1 &
done <"$scratch/block-2"
await 'link to b is up' "$scratch/agent-1.log"
echo "agents: $agents"
bash -eu -o pipefail "$scratch/block-3"
# The space is deleted when agent a has detached from it.
for _ in $(seq 100); do
  spaces=$(curl -s localhost:7400/api/v1/spaces)
  [ "$spaces" != '[]' ] || break
  sleep 0.2
done
echo "spaces: $spaces"
