# The guest's kernel and initramfs: Debian's stock kernel, unpacked and never installed, and an initramfs that mounts the host's
# file system. Both are cached; sets KERNEL and INITRAMFS.

cache=${XDG_CACHE_HOME:-$HOME/.cache}/farpage/rig

# Modules that the guest loads, in this order, with their dependencies. crc32*_generic and overlay are not dependencies of record. One
# of the two KVM modules fits the CPU; guests of the guest need it.
modules=(virtio_pci 9pnet_virtio 9p overlay crc32_generic crc32c_generic rdma_rxe rdma_ucm veth dummy virtio_net kvm_amd kvm_intel)

fetch_kernel() {
  local package release
  package=$(apt-cache depends linux-image-amd64 | sed -n 's/^ *Depends: \(linux-image-[^ ]*\)$/\1/p' | head -n 1)
  [ -n "$package" ] || { echo "rig: apt knows no linux-image-amd64; run apt-get update" >&2; return 1; }
  release=${package#linux-image-}
  KERNEL=$cache/$release/vmlinuz
  MODULES=$cache/$release/root
  if [ ! -e "$KERNEL" ]; then
    echo "rig: fetching $package" >&2
    rm -rf "$cache/$release" && mkdir -p "$MODULES"
    (cd "$cache/$release" && apt-get download -q "$package" >/dev/null 2>apt.log || { cat apt.log >&2; exit 1; })
    dpkg -x "$cache/$release"/*.deb "$MODULES"
    rm "$cache/$release"/*.deb
    depmod -b "$MODULES" "$release"
    cp "$MODULES/boot/vmlinuz-$release" "$KERNEL"
  fi
  RELEASE=$release
}

build_initramfs() {
  local tree=$cache/$RELEASE/initramfs list
  INITRAMFS=$cache/$RELEASE/initramfs.gz
  rm -rf "$tree" && mkdir -p "$tree"/{bin,modules,proc,sys,dev,host,top,root}
  cp "$(command -v busybox)" "$tree/bin/busybox"
  cp "$rig/guest/init" "$tree/init"
  list=$(for module in "${modules[@]}"; do
    modprobe -d "$MODULES" -S "$RELEASE" --show-depends "$module" || exit 1
  done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }')
  local path
  for path in $list; do
    case $path in
      *.ko) cp "$path" "$tree/modules/" ;;
      *.xz) xz -dc "$path" >"$tree/modules/$(basename "${path%.xz}")" ;;
      *.zst) zstd -qdc "$path" >"$tree/modules/$(basename "${path%.zst}")" ;;
    esac
    basename "$path" | sed 's/\.ko.*/.ko/; s/^dummy.ko$/dummy.ko numdummies=0/' >>"$tree/modules/order"
  done
  chmod 755 "$tree/init"
  (cd "$tree" && find . | cpio -o -H newc --quiet | gzip -1) >"$INITRAMFS.new"
  mv "$INITRAMFS.new" "$INITRAMFS"
  rm -rf "$tree"
}
