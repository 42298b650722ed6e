# Boots the guest. Needs KERNEL and INITRAMFS from kernel.sh.

qemu=(qemu-system-x86_64 -smp 2 -m "${RIG_MEMORY:-7168}" -M q35 -display none -nodefaults -no-user-config -no-reboot -serial stdio)
# Without the self-tests of the kernel's cryptography, which start while code is being patched: TCG with a thread for each vCPU hangs there now and then.
append="console=ttyS0 quiet panic=-1 mitigations=off nokaslr tsc=reliable cryptomgr.notests"

# Sets ACCELERATION; RIG_CPU names another CPU model than the usual one. Not every KVM that opens also runs a guest, so it has to be tried; the outcome
# is kept, as a failure takes long.
probe_acceleration() {
  local kept
  kept=$cache/acceleration-$(uname -r)
  if [ ! -s "$kept" ]; then
    echo tcg >"$kept"
    if [ -w /dev/kvm ] && timeout 10 "${qemu[@]}" -accel kvm -cpu host -nic none -kernel "$KERNEL" -initrd "$INITRAMFS" \
      -append "$append rig.probe" </dev/null 2>/dev/null | grep -q "rig: booted"; then
      echo kvm >"$kept"
    fi
  fi
  case ${RIG_ACCEL:-$(cat "$kept")} in
    kvm) ACCELERATION=(-accel kvm -cpu "${RIG_CPU:-host}") ;;
    # -cpu max would double the latency of rxe.
    *) ACCELERATION=(-accel tcg,thread=multi -cpu "${RIG_CPU:-qemu64,+npt}") ;;
  esac
}

# boot ROLE OUT SECONDS [qemu arguments]: runs guest/main to its end, or with SYSTEM the Debian in that directory, the console in OUT/console.log. To be
# run in the background: it becomes the machine's process, so that killing the job ends the machine.
boot() {
  local role=$1 out=$2 seconds=$3
  shift 3
  exec timeout --kill-after=5 "$seconds" "${qemu[@]}" "${ACCELERATION[@]}" -kernel "$KERNEL" -initrd "$INITRAMFS" \
    -append "$append rig.main=$rig/guest/main rig.out=$out rig.role=$role${SYSTEM:+ rig.system=$SYSTEM net.ifnames=0}" \
    -fsdev local,id=host,path=/,security_model=none,readonly=on,multidevs=remap \
    -device virtio-9p-pci,fsdev=host,mount_tag=host \
    -fsdev "local,id=out,path=$out,security_model=none,multidevs=remap" \
    -device virtio-9p-pci,fsdev=out,mount_tag=out \
    "$@" </dev/null >"$out/console.log" 2>&1
}
