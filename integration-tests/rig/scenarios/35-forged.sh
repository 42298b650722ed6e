# time limit: 600 s
# lane: wire
# devices: rxe8
# Accesses with forged and foreign keys by a C program that shares no code with farpage. It posts work requests through libibverbs over unreliable and
# over reliable connections (a refusal ends a reliable one), and sends RoCE v2 packets from an interface on the same wire without an RDMA device. Not a
# byte is read or written, and the right numbers read and write all the time. FORGED_ACCESSES, FORGED_WRITES and FORGED_PACKETS set the counts; --checks
# sends a tenth of the WRITEs and packets.
finish() {
  rdma link delete rxe8 2>/dev/null || true
  ip link delete eth8 2>/dev/null || true
}
trap finish EXIT

ip link add eth8 mtu 9000 type veth peer name stranger mtu 9000
ip address add 10.80.0.1/24 dev eth8
ip link set eth8 up
ip link set stranger up
# What queue pairs answer to their peer, 10.80.0.2, goes to the stranger.
ip neigh replace 10.80.0.2 lladdr "$(cat /sys/class/net/stranger/address)" dev eth8 nud permanent
rdma link add rxe8 type rxe netdev eth8

[ "$RIG_CHECKS" = yes ] && many=100000 || many=1000000
"$RIG_FORGE" rxe8 1 "${FORGED_ACCESSES:-20000}" "${FORGED_WRITES:-$many}" stranger 10.80.0.2 "${FORGED_PACKETS:-$many}"
