# time limit: 240 s
# Every reason why no device is usable that takes a device to bring about, each as the user or under the limit that it is about.

# expect PATTERN COMMAND…: what the command prints matches.
expect() {
  local pattern=$1 found
  shift
  found=$("$@" 2>&1) || true
  if [[ $found == $pattern ]]; then
    printf 'as expected:\n%s\n' "$found"
  else
    echo "# result: expected $(printf %q "$pattern") and got $(printf %q "$found")"
    failed=yes
  fi
}

probe() {
  java "${java_flags[@]}" -cp "$RIG_CLASSPATH" io.farpage.verbs.ibverbs.ProbeCommand "$@"
}

# as_nobody KIB COMMAND…: without privileges and with so much memlock.
as_nobody() {
  (
    ulimit -l "$1"
    shift
    setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all \
      "$JAVA_HOME/bin/java" "${java_flags[@]}" -cp "$RIG_CLASSPATH" io.farpage.verbs.ibverbs.ProbeCommand "$@"
  )
}

failed=no
chmod a+rx "$HOME" "$HOME"/.m2
# The fastest first; of equals the order of the names.
expect 'AVAILABLE: \[rxe1, rxe2, rxe0\]
AVAILABLE: \[rxe2\]
NO_DEVICE: none of the RDMA devices*mlx5_0*
NO_USABLE_GID: rxe0/1 has no GID at index 200*
PORT_NOT_ACTIVE: rxe0 has no port 2*' \
  probe -- device=rxe2 -- device=mlx5_0 -- device=rxe0 gid_index=200 -- device=rxe0 port=2
ip link set cable2 down
expect 'PORT_NOT_ACTIVE: rxe2/1 is DOWN*ip link set*' probe device=rxe2
ip link set cable2 up
ip route replace 10.77.0.1/32 dev cable2 src 10.77.0.2 table 102

chmod 666 /dev/infiniband/uverbs*
expect 'AVAILABLE: \[rxe0\]
MEMLOCK_TOO_SMALL: *1048576*it needs 1073741824*
AVAILABLE: *
REFUSED: reg_mr of 67108864 bytes on rxe0/1*ENOMEM*RLIMIT_MEMLOCK is 1048576*' \
  as_nobody 1024 device=rxe0 -- device=rxe0 pinned=1073741824 -- device=rxe0 register=67108864
expect $'AVAILABLE: *\nREGISTERED: 67108864' as_nobody 131072 device=rxe0 register=67108864
chmod 600 /dev/infiniband/uverbs*
expect 'PERMISSION_DENIED: no permission to read and write /dev/infiniband/uverbs* of rxe0*' as_nobody 1024 device=rxe0
chmod 666 /dev/infiniband/uverbs*
[ $failed = no ]
