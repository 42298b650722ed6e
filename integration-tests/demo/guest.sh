# The guest of the demonstration: its initramfs, and how QEMU runs it. Needs kernel.sh and vm.sh of the rig.

guest_memory=512M

# build_guest FILE: sets INITRAMFS. Debian's kernel has all that it needs built in, so there are no modules.
build_guest() {
  local tree
  tree=$(mktemp -d)
  mkdir -p "$tree"/{bin,proc,dev,files}
  cp "$(command -v busybox)" "$tree/bin/busybox"
  cp "$demo/guest/init" "$tree/init"
  chmod 755 "$tree/init"
  (cd "$tree" && find . | cpio -o -H newc --quiet | gzip -1) >"$1"
  rm -rf "$tree"
  INITRAMFS=$1
}

# run_guest CONSOLE [LIBRARY SOCKET [WORDS]]: until it powers off, with more words for its command line; its input is $guest_input. Its RAM, a memfd, goes to the agent at the socket through the preloaded library. To
# be run in the background: it becomes QEMU, so that killing the job ends the guest.
run_guest() {
  local preloaded=()
  [ $# -lt 3 ] || preloaded=(env "LD_PRELOAD=$2" "FARPAGE_SOCKET=$3")
  exec timeout --kill-after=5 "$guest_timeout" "${preloaded[@]}" "${qemu[@]}" "${ACCELERATION[@]}" -nic none \
    -object "memory-backend-memfd,id=m,size=$guest_memory,share=on" -machine memory-backend=m \
    -kernel "$KERNEL" -initrd "$INITRAMFS" -append "$append demo.seed=$seed demo.mib=$mib ${4:-}" <"${guest_input:-/dev/null}" >"$1" 2>&1
}

# said CONSOLE WORD: what the guest said of WORD last.
said() {
  tr -d '\r' <"$1" 2>/dev/null | sed -n "s/^demo: $2 //p" | tail -n 1
}
