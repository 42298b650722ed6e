# What both demonstrations need before they start: packages, a build, one run at a time, a guest to boot, and an end that leaves nothing
# running. Needs fail, kernel.sh, vm.sh and guest.sh; sets sockets, a directory whose path is short enough for sockets.

"$rig/install-packages" qemu-system-x86 busybox-static cpio kmod gcc libc6-dev curl
command -v qemu-system-x86_64 >/dev/null \
  || fail "qemu-system-x86_64 is not on the PATH though its package is installed; run: apt-get install --reinstall qemu-system-x86"
[ -d "$root/target/farpage/lib" ] || fail "farpage is not built yet; run: make -C $root build"
"$root/build/preload-library"
[ -e "$library" ] || fail "$library is missing; install gcc and libc6-dev and run: make -C $root build"

mkdir -p "$root/integration-tests/target"
exec {lock}>"$root/integration-tests/target/demo.lock"
flock -n $lock || fail "another run is under way in $root"
rm -rf "$target"
mkdir -p "$target"

# Nothing is left running, however this ends. A socket's path must be short, which the target directory's need not be.
sockets=$(mktemp -d)
finish() {
  local running
  running=$(jobs -p)
  [ -z "$running" ] || kill $running 2>/dev/null || true
  rm -rf "$sockets"
  wait
}
trap finish EXIT
trap 'exit 130' INT TERM

fetch_kernel
build_guest "$target/initramfs.gz"
probe_acceleration
echo "demo: Linux $RELEASE in $(qemu-system-x86_64 --version | sed -n '1s/ *(.*//p'), ${ACCELERATION[1]%%,*}; $mib MiB of files, seed $seed"

# end_of PID CONSOLE: waits for a guest to power off; fails with the end of its console if it did not run to its end.
end_of() {
  local code=0
  wait "$1" || code=$?
  if [ $code -ne 0 ] || [ -z "$(said "$2" hundredths)" ]; then
    tail -n 20 "$2" >&2
    fail "the guest did not run to its end (QEMU's exit code is $code); console: $2"
  fi
}
