# time limit: 480 s
# Nodes with RDMA and nodes without in one cluster: a and a2 link over RDMA, every other pair over TCP, and pages are the same whichever
# way they go.
. "$RIG_DIR/guest/cluster"

start_coordinator
start_agent a 7401 transport.mode=auto rdma.device=rxe0
start_agent a2 7402 transport.mode=auto rdma.device=rxe0
start_agent b 7403 transport.mode=tcp
start_agent c 7404 transport.mode=tcp

declare -A port=([a]=7401 [a2]=7402 [b]=7403 [c]=7404)
pairs=0
for from in a a2 b c; do
  for to in a a2 b c; do
    [ $from != $to ] || continue
    case $from-$to in a-a2 | a2-a) transport=rdma ;; *) transport=tcp ;; esac
    eventually 240 linked ${port[$from]} $to $transport
    pairs=$((pairs + 1))
  done
done
for node in a a2 b c; do
  curl -sSf "http://127.0.0.1:${port[$node]}/api/v1/links" >"$SCENARIO_OUT/links-$node.json"
done
echo "# result: a and a2 are linked over rdma, the other pairs over tcp ($pairs links looked at from both ends)"

# Each node's pages are put there through one of the others, and read by all.
checked=0
writers=([0]=b [1]=a [2]=a2 [3]=a)
homes=(a a2 b c)
for i in 0 1 2 3; do
  home=${homes[$i]} writer=${writers[$i]}
  make_space on-$home $home
  for page in 0 255; do
    head -c 4096 /dev/urandom >"$work/page"
    put_page ${port[$writer]} on-$home $page "$work/page"
    for reader in a a2 b c; do
      get_page ${port[$reader]} on-$home $page >"$work/read"
      cmp "$work/page" "$work/read"
      checked=$((checked + 1))
    done
  done
done
echo "# result: $checked reads of pages put on each node through another, all right"
