# time limit: 900 s
# kind: nightly
# lane: cable
# devices: rxe1 rxe2
# Two agents at the two ends of the cable, which their TCP does not use. While RDMA packets get lost on it, as where UDP port 4791 is blocked,
# RDMA is tried beside TCP in vain, and the link stays up over TCP. When packets arrive, the link moves to RDMA. The agents' path MTU and READ
# depth differ all the time. No page fails or is wrong.
ports=7410
. "$RIG_DIR/guest/cluster"
finish() {
  touch "$work/stop"
  end_cluster
  unblock
}
trap finish EXIT

# A neighbour with a hardware address that nothing has: what is sent there leaves, and is dropped where it arrives.
block() {
  ip neigh replace 10.77.0.2 lladdr 02:00:00:00:00:99 dev cable1 nud permanent
  ip neigh replace 10.77.0.1 lladdr 02:00:00:00:00:99 dev cable2 nud permanent
}
unblock() {
  ip neigh del 10.77.0.2 dev cable1 2>/dev/null || true
  ip neigh del 10.77.0.1 dev cable2 2>/dev/null || true
}

block
start_coordinator
start_agent a 7411 rdma.device=rxe1 fetch.deadline=60s link.rdma_pause=2s
start_agent b 7412 rdma.device=rxe2 fetch.deadline=60s link.rdma_pause=2s rdma.mtu=1024 rdma.max_rd_atomic=2
eventually 400 linked 7411 b tcp
eventually 240 linked 7412 a tcp
echo "# result: RDMA packets get lost: a and b are linked over tcp"

make_space on-b b
for page in 0 1 2 3; do
  head -c 4096 /dev/urandom >"$work/page$page"
  put_page 7411 on-b $page "$work/page$page"
done

move_pages() {
  local moved=0
  while [ ! -e "$work/stop" ]; do
    local page=$((moved % 4))
    if ! get_page 7411 on-b $page | cmp - "$work/page$page"; then
      echo "page $page failed after $moved" >>"$work/wrong"
    fi
    moved=$((moved + 1))
    echo $moved >"$work/moved"
  done
}
# ended PATTERN: how often a link ended that was up.
ended() { cat "$work/a.log" "$work/b.log" | grep -c "failed over $1" || true; }
# trials: how many were given up.
trials() { cat "$work/a.log" "$work/b.log" | grep -c "stays on tcp, rdma failed" || true; }
several_trials() { [ "$(trials)" -ge 3 ]; }

tcp_before=$(ended tcp)
move_pages >"$work/pages.log" 2>&1 &
mover=$!
eventually 240 several_trials
[ "$(ended tcp)" = "$tcp_before" ] || { echo "the link over tcp was torn down"; exit 1; }
linked 7411 b tcp
echo "# result: $(trials) trials of rdma failed beside the link over tcp, which stayed up; $(cat "$work/moved") pages moved"

unblock
rdma_before=$(ended rdma)
eventually 240 linked 7411 b rdma
eventually 240 linked 7412 a rdma
[ "$(ended tcp)" = "$tcp_before" ] || { echo "the link over tcp broke before it was replaced"; exit 1; }
moved=$(cat "$work/moved")
goes_on() { [ "$(cat "$work/moved")" -ge $((moved + 40)) ]; }
eventually 120 goes_on
# More READs at once than b answers, in both directions.
make_space on-a a
put_page 7412 on-a 5 "$work/page1"
for burst in 1 2 3 4 5 6 7 8 9 10 11 12; do
  get_page 7411 on-b 2 >"$work/burst-a-$burst" &
  get_page 7412 on-a 5 >"$work/burst-b-$burst" &
  bursts+=" $!"
done
wait $bursts
for burst in 1 2 3 4 5 6 7 8 9 10 11 12; do
  eventually 60 cmp "$work/burst-a-$burst" "$work/page2"
  eventually 60 cmp "$work/burst-b-$burst" "$work/page1"
done
[ "$(ended rdma)" = "$rdma_before" ] || { echo "the link over rdma broke"; exit 1; }
touch "$work/stop"
wait $mover
[ ! -e "$work/wrong" ] || { cat "$work/wrong" "$work/pages.log"; exit 1; }
echo "# result: packets arrive: the link moved to rdma, with mtu 4096 and 1024 and 16 and 2 READs at once; $(cat "$work/moved") pages moved, none failed, none wrong"
