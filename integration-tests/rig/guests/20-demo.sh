# time limit: 400 s
# The demonstration over RDMA: a Linux guest in QEMU within this one, most of its RAM in another agent's pool.
export FARPAGE_JAVA_OPTS="-XX:TieredStopAtLevel=1"
# Emulation within emulation would take too long, and so may trying what there is.
[ ! -w /dev/kvm ] || export RIG_ACCEL=kvm
"$RIG_ROOT/integration-tests/demo/run" --device rxe0 --mib "${DEMO_MIB:-30}" --local "${DEMO_LOCAL:-48MiB}" | tee "$SCENARIO_OUT/demo.log"
cp "$RIG_ROOT"/integration-tests/target/demo/*.{log,console} "$SCENARIO_OUT" || true
sed -n 's/^demo: \(plain\|[0-9]* faults\|checksums\)/# result: \1/p' "$SCENARIO_OUT/demo.log"
