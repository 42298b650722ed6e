# time limit: 480 s
# A coordinator and two agents as processes, linked over rxe. While pages move, the port goes down, and then the device is deleted: the
# link goes on over TCP, comes back to RDMA each time, and no page fails or is wrong.
. "$RIG_DIR/guest/cluster"
finish() {
  touch "$work/stop"
  end_cluster
  rdma link delete rxe9 2>/dev/null || true
  ip link delete eth9 2>/dev/null || true
}
trap finish EXIT

ip link add eth9 mtu 9000 type veth peer name eth9peer mtu 9000
ip address add 10.79.0.1/24 dev eth9
ip link set eth9 up
ip link set eth9peer up
rdma link add rxe9 type rxe netdev eth9

start_coordinator
# Emulated, and on a busy machine, agreeing on a new link takes many seconds: what must not happen is that a page fails for another reason.
start_agent a 7401 rdma.device=rxe9 fetch.deadline=60s
start_agent b 7402 rdma.device=rxe9 fetch.deadline=60s
eventually 240 linked 7401 b rdma
echo "# result: linked over rdma"

make_space s b
for page in 0 1 2 3 4 5 6 7; do
  head -c 4096 /dev/urandom >"$work/page$page"
  put_page 7401 s $page "$work/page$page"
done

move_pages() {
  local moved=0
  while [ ! -e "$work/stop" ]; do
    local page=$((moved % 8))
    if ! get_page 7401 s $page | cmp - "$work/page$page"; then
      echo "page $page failed after $moved" >>"$work/wrong"
    fi
    moved=$((moved + 1))
  done
  echo $moved >"$work/moved"
}
move_pages >"$work/pages.log" 2>&1 &
mover=$!

ip link set eth9 down
eventually 60 linked 7401 b tcp
echo "# result: port down: the link went on over tcp"
ip link set eth9 up
eventually 60 linked 7401 b rdma
echo "# result: port up: the link came back to rdma"
rdma link delete rxe9
eventually 60 linked 7401 b tcp
echo "# result: device deleted: the link went on over tcp"
rdma link add rxe9 type rxe netdev eth9
eventually 60 linked 7401 b rdma
echo "# result: device added: the link came back to rdma"

touch "$work/stop"
wait $mover
[ ! -e "$work/wrong" ] || { cat "$work/wrong" "$work/pages.log"; exit 1; }
echo "# result: $(cat "$work/moved") pages fetched meanwhile, none failed, none wrong"
