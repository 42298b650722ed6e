# What the demonstration shows while a guest runs and when all is over.

# line TEXT: prints a line; on a terminal it replaces the last line, cut to the width.
line() {
  if [ -t 1 ]; then
    printf '\r\033[K%s' "${1:0:$(($(tput cols 2>/dev/null || echo 80) - 1))}"
  else
    printf '%s\n' "$1"
  fi
}

# Seconds between two lines.
[ -t 1 ] && pause=0.5 || pause=2

end_lines() {
  [ ! -t 1 ] || echo
}

# What else the machine does: times of one run say little when that is much.
load() {
  echo "load average $(cut -d ' ' -f 1 /proc/loadavg) on $(nproc) CPUs"
}

# progress CONSOLE: how far the guest is.
progress() {
  local last
  last=$(said "$1" progress)
  echo "${last:-boots}"
}

# show_progress PID CONSOLE: until the guest's process ends.
show_progress() {
  while kill -0 "$1" 2>/dev/null; do
    line "  guest: $(progress "$2")"
    sleep $pause
  done
  end_lines
}

mib_of() {
  awk -v pages="$1" -v size="$2" 'BEGIN { printf "%.1f", pages * size / 1048576 }'
}

# show_paging PID CONSOLE: the same with what the agent does; leaves its last account in status.json.
show_paging() {
  local status faults before=0 now then size
  then=$(date +%s%N)
  while kill -0 "$1" 2>/dev/null; do
    require_cluster
    if status=$(spaces 2>/dev/null); then
      printf '%s' "$status" >"$target/status.json"
      now=$(date +%s%N)
      faults=$(number faults "$status")
      size=$(number pageSize "$status")
      line "$(awk -v faults="$faults" -v before="$before" -v ns=$((now - then)) -v p50="$(number faultP50Ns "$status")" \
        -v p99="$(number faultP99Ns "$status")" -v here="$(mib_of "$(number residentPages "$status")" "$size")" \
        -v there="$(mib_of "$(number remotePages "$status")" "$size")" -v out="$(number evictions "$status")" \
        -v guest="$(progress "$2")" 'BEGIN {
          printf "  %6d faults/s  p50 %4.0f us  p99 %5.0f us  here %5s MiB  remote %5s MiB  evicted %6d  guest: %s",
            (faults - before) * 1e9 / ns, p50 / 1e3, p99 / 1e3, here, there, out, guest }')"
      before=$faults then=$now
    fi
    sleep $pause
  done
  end_lines
}

# verdict STATUS: compares the two runs; fails if anything is wrong.
verdict() {
  local plain=$target/plain.console remote=$target/remote.console size peak limit wrong=0
  size=$(number pageSize "$1")
  peak=$(number peakResidentPages "$1")
  limit=$(number localLimitPages "$1")
  awk -v plain="$(said "$plain" hundredths)" -v remote="$(said "$remote" hundredths)" -v faults="$(number faults "$1")" \
    -v p50="$(number faultP50Ns "$1")" -v p99="$(number faultP99Ns "$1")" -v out="$(number evictions "$1")" \
    -v ahead="$(number prefetchedPages "$1")" -v peak="$(mib_of "$peak" "$size")" -v limit="$(mib_of "$limit" "$size")" 'BEGIN {
      printf "demo: plain %.2f s, remote %.2f s: %.2f times%s\n", plain / 100, remote / 100, remote / plain,
        remote < plain ? "; the machine had other work during the first, so this says nothing" : ""
      printf "demo: %d faults, p50 %.1f us, p99 %.1f us; %d pages prefetched, %d evicted; at most %s MiB of %s MiB here\n",
        faults, p50 / 1e3, p99 / 1e3, ahead, out, peak, limit }'
  if [ "$(said "$plain" same)" != yes ]; then
    echo "demo: WRONG: on local memory the guest read other files the second time" >&2
    wrong=1
  fi
  if [ "$(said "$remote" same)" != yes ]; then
    echo "demo: WRONG: on remote memory the guest read other files the second time" >&2
    wrong=1
  fi
  if [ "$(said "$plain" sum)" != "$(said "$remote" sum)" ]; then
    echo "demo: WRONG: checksum on local memory $(said "$plain" sum), on remote memory $(said "$remote" sum)" >&2
    wrong=1
  fi
  if [ "$peak" -eq 0 ] || [ "$peak" -gt "$limit" ]; then
    echo "demo: WRONG: $peak pages were here at once, of $limit allowed" >&2
    wrong=1
  fi
  if [ "$(number evictions "$1")" -eq 0 ]; then
    echo "demo: WRONG: nothing was evicted, so this has shown nothing; use a smaller --local" >&2
    wrong=1
  fi
  [ $wrong -eq 0 ] || return 1
  echo "demo: checksums are the same: $(said "$remote" sum)"
}
