# time limit: 900 s
# lane: cable
# devices: rxe1 rxe2 rxd8
# Nodes whose devices differ in number. Agent a has rxd8 (rail 0), whose network has no other node, and rxe1 at one end of the cable; b has rxe2 at the
# other end. First rxd8 is of another subnet: the link is over rxe1 at once. Then, between c and d, it is of the same subnet, where nothing
# answers: RDMA over rxd8 fails, and the next trial is over rxe1.
ports=7420
. "$RIG_DIR/guest/cluster"
finish() {
  end_cluster
  ip rule del pref 20 from 10.77.0.8 to 10.77.0.2 lookup 108 2>/dev/null || true
  rdma link delete rxd8 2>/dev/null || true
  ip link delete eth8 2>/dev/null || true
}
trap finish EXIT

ip link add eth8 mtu 9000 type veth peer name eth8peer mtu 9000
ip address add 10.80.0.1/24 dev eth8
ip link set eth8 up
ip link set eth8peer up
rdma link add rxd8 type rxe netdev eth8

# over PORT PEER DEVICE: whether the link is up over RDMA on that device.
over() {
  curl -sSf "http://127.0.0.1:$1/api/v1/links" 2>/dev/null | tr '}' '\n' |
    grep -q "\"peer\":\"$2\",\"state\":\"up\",\"transport\":\"rdma\",\"device\":\"$3\""
}
failures() { cat "$work/$1.log" | grep -c 'rdma failed\|failed over rdma' || true; }

start_coordinator
start_agent a 7421 rdma.device=rxd8,rxe1 link.rdma_pause=2s fetch.deadline=60s
start_agent b 7422 rdma.device=rxe2 link.rdma_pause=2s fetch.deadline=60s
eventually 400 over 7421 b rxe1
eventually 60 over 7422 a rxe2
[ "$(failures a)" = 0 ] || { echo "rdma was tried over another device first"; exit 1; }
make_space on-b b
head -c 4096 /dev/urandom >"$work/page"
put_page 7421 on-b 1 "$work/page"
get_page 7421 on-b 1 | cmp - "$work/page"
echo "# result: rail 1 of a (rxe1) and rail 0 of b (rxe2), of one subnet, carry the link; nothing was tried over rxd8"
kill "${pids[@]:1}"
wait "${pids[@]:1}" || true
pids=("${pids[0]}")

# The kernel looks for the peer on eth8 for packets of that address, and finds nothing there.
ip address del 10.80.0.1/24 dev eth8
ip address add 10.77.0.8/24 dev eth8
ip rule add pref 20 from 10.77.0.8 to 10.77.0.2 lookup 108
ip route add 10.77.0.2/32 dev eth8 src 10.77.0.8 table 108
ip neigh replace 10.77.0.2 lladdr 02:00:00:00:00:98 dev eth8 nud permanent
start_agent c 7423 rdma.device=rxd8,rxe1 link.rdma_pause=2s fetch.deadline=60s
start_agent d 7424 rdma.device=rxe2 link.rdma_pause=2s fetch.deadline=60s
eventually 400 over 7423 d rxe1
eventually 60 over 7424 c rxe2
ip rule del pref 20 from 10.77.0.8 to 10.77.0.2 lookup 108
# Either side may be the first to find that the other cannot be reached.
failed=$(($(failures c) + $(failures d)))
[ "$failed" -ge 1 ] || { echo "rdma did not fail over rxd8 first"; exit 1; }
make_space on-d d
put_page 7423 on-d 1 "$work/page"
get_page 7423 on-d 1 | cmp - "$work/page"
echo "# result: rdma failed $failed times over rxd8, then rail 1 of c (rxe1) and rail 0 of d (rxe2) carry the link"
