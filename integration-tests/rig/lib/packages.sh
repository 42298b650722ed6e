# The two machines of `run --packages`: a clean Debian with systemd each, and the packages in /srv/farpage.

# packages_or_skip: builds the packages, and makes the Debian. Sets SYSTEM. Ends the run with 77 and the reason if this host cannot.
packages_or_skip() {
  local reason
  SYSTEM=$root/target/packages-test/base
  if ! reason=$("$root/integration-tests/packages/base" "$SYSTEM"); then
    echo "skipped: the packages are not tested over RDMA: $reason"
    exit 77
  fi
  echo "rig: building the packages" >&2
  # Emulation takes a minute to decompress xz.
  "$root/build/packages" --output "$target/debs" --compression zstd >/dev/null
  TREE=$(echo "$root"/target/packages-work/farpage-runtime-*/usr/lib/farpage/*)
  "$root/build/aot-caches" "$TREE" "$target/aot" >/dev/null
  mkdir -p "$target/exchange"
}

# prepare_system ROLE: what the machine has besides the clean Debian, in the results' directory.
prepare_system() {
  local system=$target/$1/system number=1
  [ "$1" = a ] || number=2
  mkdir -p "$system"/etc/{apt/apt.conf.d,systemd/system/multi-user.target.wants,systemd/system.conf.d} "$system"/{srv/farpage,rig}
  echo "host$number" >"$system/etc/hostname"
  : >"$system/etc/machine-id"
  cp "$target"/debs/*.deb "$system/srv/farpage/"
  # Under emulation a JVM takes most of a minute to start without.
  mkdir -p "$system/usr/lib/farpage/${TREE##*/}"
  cp "$target"/aot/*.aot "$system/usr/lib/farpage/${TREE##*/}/"
  cp "$rig"/packages/{test,host1,host2} "$root/integration-tests/packages/traces" "$system/rig/"
  # The commands that users are told to run.
  sed -n "s/^host$number# \(.*\)/\1/p" "$root/docs/packages.md" >"$system/rig/commands"
  cp "$rig"/packages/*.service "$system/etc/systemd/system/"
  for unit in rig-device rig-test; do ln -s "../$unit.service" "$system/etc/systemd/system/multi-user.target.wants/"; done
  # Nothing else takes apt's lock, or the CPUs.
  for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service; do
    ln -s /dev/null "$system/etc/systemd/system/$unit"
  done
  # The answer of the user that apt asks.
  echo 'APT::Get::Assume-Yes "true";' >"$system/etc/apt/apt.conf.d/90rig"
  # Emulation is slow: of the two compilers the quick one, and more patience than the defaults.
  cat >"$system/etc/systemd/system.conf.d/rig.conf" <<EOT
[Manager]
DefaultEnvironment=RIG_NUMBER=$number FARPAGE_JAVA_OPTS=-XX:TieredStopAtLevel=1 FARPAGE_COORDINATOR_TIMEOUT=30s FARPAGE_SHARD_IDLE=block
EOT
}

# verdict_packages ROLE: success if all checks in that machine passed, and the last one was reached.
verdict_packages() {
  local log=$target/$1/log
  grep -E '^(ok|FAILED|# result:) ' "$log" | sed 's/^# result: /        /'
  grep -q '^ok .*dpkg knows none of them$' "$log" && ! grep -q '^FAILED ' "$log" && return
  echo "        the end of $log:"
  tail -n 40 "$log" | sed 's/^/        /'
  return 1
}
