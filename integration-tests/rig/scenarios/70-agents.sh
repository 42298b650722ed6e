# time limit: 900 s
# lane: lo
# devices: rxe9
# A coordinator and three agents as processes: a and b link over rxe, c has TCP alone, and pages are the same whichever way they go. Then,
# while pages move between a and b, the port goes down, and the device is deleted: the link goes on over TCP, comes back to RDMA each time,
# and no page fails or is wrong.
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
start_agent c 7403 transport.mode=tcp fetch.deadline=60s
declare -A port=([a]=7401 [b]=7402 [c]=7403)

for pair in a-b b-a a-c c-a b-c c-b; do
  case $pair in a-b | b-a) transport=rdma ;; *) transport=tcp ;; esac
  eventually 480 linked ${port[${pair%-*}]} ${pair#*-} $transport
done
for node in a b c; do
  curl -sSf "http://127.0.0.1:${port[$node]}/api/v1/links" >"$SCENARIO_OUT/links-$node.json"
done
echo "# result: a and b are linked over rdma, c with both over tcp"

# reads_right SPACE PAGE: whether every node reads what was put there.
reads_right() {
  local reader
  for reader in a b c; do
    get_page ${port[$reader]} $1 $2 | cmp - "$work/$1-$2"
  done
}

# Each node's pages are put there through another, and read by all.
for way in c-a a-b b-c; do
  home=${way#*-}
  make_space on-$home $home
  head -c 4096 /dev/urandom >"$work/on-$home-255"
  put_page ${port[${way%-*}]} on-$home 255 "$work/on-$home-255"
  reads_right on-$home 255
done
echo "# result: a page put on each node through another is read right by all three"

for page in 0 1 2 3; do
  head -c 4096 /dev/urandom >"$work/page$page"
  put_page 7401 on-b $page "$work/page$page"
done

move_pages() {
  local moved=0
  while [ ! -e "$work/stop" ]; do
    local page=$((moved % 4))
    if ! get_page 7401 on-b $page | cmp - "$work/page$page"; then
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
