# time limit: 240 s
# lane: cable
# devices: rxe1 rxe2
# Every reason why no device is usable that takes a device to bring about, each as the user or under the limit that it is about. Two
# processes probe, one of root and one without privileges, whose limits and permissions are changed from here: a JVM takes long to start.

chmod a+rx "$HOME" "$HOME"/.m2
probe=("$JAVA_HOME/bin/java" "${java_flags[@]}" -cp "$RIG_CLASSPATH" io.farpage.verbs.ibverbs.ProbeCommand -)
coproc ROOT { exec "${probe[@]}"; }
to_root=${ROOT[1]} from_root=${ROOT[0]}
# bash warns of a second coprocess, which is what is wanted.
coproc PLAIN { exec setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all "${probe[@]}"; }
to_plain=${PLAIN[1]} from_plain=${PLAIN[0]} plain=$PLAIN_PID

failed=no
# expect PATTERN ROLE ARGUMENT...: what that process then says matches.
expect() {
  local pattern=$1 to=to_$2 from=from_$2 line found=
  shift 2
  echo "$*" >&"${!to}"
  while read -r -t 120 line <&"${!from}" && [ -n "$line" ]; do found+=$line$'\n'; done
  if [[ $found == $pattern ]]; then
    printf 'as expected: %s' "$found"
  else
    echo "# result: for $(printf %q "$*") expected $(printf %q "$pattern") and got $(printf %q "$found")"
    failed=yes
  fi
}

# The fastest first; of equals the order of the names.
expect 'AVAILABLE: \[rxe1, rxe2, *rxe0\]*' root
expect 'AVAILABLE: \[rxe2\]*' root device=rxe2
expect 'NO_DEVICE: none of the RDMA devices*mlx5_0*' root device=mlx5_0
expect 'NO_USABLE_GID: rxe1/1 has no GID at index 200*' root device=rxe1 gid_index=200
expect 'PORT_NOT_ACTIVE: rxe1 has no port 2*' root device=rxe1 port=2
ip link set cable2 down
expect 'PORT_NOT_ACTIVE: rxe2/1 is DOWN*ip link set*' root device=rxe2
ip link set cable2 up
ip route replace 10.77.0.1/32 dev cable2 src 10.77.0.2 table 102

chmod 600 /dev/infiniband/uverbs*
expect 'PERMISSION_DENIED: no permission to read and write /dev/infiniband/uverbs* of rxe1*' plain device=rxe1
chmod 666 /dev/infiniband/uverbs*
prlimit --pid "$plain" --memlock=1048576:unlimited
expect 'AVAILABLE: \[rxe1\]*' plain device=rxe1
expect 'MEMLOCK_TOO_SMALL: *1048576*it needs 1073741824*' plain device=rxe1 pinned=1073741824
expect 'AVAILABLE: *REFUSED: reg_mr of 67108864 bytes on rxe1/1*ENOMEM*RLIMIT_MEMLOCK is 1048576*' plain device=rxe1 register=67108864
prlimit --pid "$plain" --memlock=134217728:unlimited
expect $'AVAILABLE: *\nREGISTERED: 67108864*' plain device=rxe1 register=67108864
exec {to_root}>&- {to_plain}>&-
wait
[ $failed = no ]
