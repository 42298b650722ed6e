# time limit: 300 s
# A coordinator and a home in one machine, an agent in the other: linked over RDMA through the wire between them, which alone is allowed
# here. Pages that b puts on a come back as they were.
. "$RIG_DIR/guest/cluster"
coordinator=http://10.78.0.1:7400

knows_b() {
  curl -sSf --max-time 5 $coordinator/api/v1/nodes | grep -q '"id" *: *"b"'
}
forgot_b() {
  ! knows_b
}

case $RIG_ROLE in
  a)
    start_coordinator 10.78.0.1
    start_agent a 7401 transport.mode=rdma rdma.device=rxe0
    eventually 240 knows_b
    eventually 120 linked 7401 b rdma
    echo "# result: a is linked to b over rdma"
    # b leaves the cluster when it is done.
    eventually 200 forgot_b
    ;;
  b)
    eventually 200 curl -sf --max-time 5 -o /dev/null $coordinator/health
    start_agent b 7401 transport.mode=rdma rdma.device=rxe0
    eventually 240 linked 7401 a rdma
    make_space s a
    before=$(cat /sys/class/net/eth0/statistics/rx_bytes)
    for page in $(seq 0 31); do
      head -c 4096 /dev/urandom >"$work/page$page"
      put_page 7401 s $page "$work/page$page"
    done
    for page in $(seq 0 31); do
      get_page 7401 s $page >"$work/read"
      cmp "$work/page$page" "$work/read"
    done
    received=$(($(cat /sys/class/net/eth0/statistics/rx_bytes) - before))
    [ $received -gt $((32 * 4096)) ]
    echo "# result: 32 pages put on a and read back, all right; $received bytes came in through the wire"
    ;;
esac
