# Turns the rounds of 90-fetch into medians and ratios, and holds them to their bounds.
# ib_read_lat: bytes iterations t_min t_max t_typical t_avg t_stdev 99% 99.9%; ib_read_bw: bytes iterations peak average(MB/s) Mpps.
function median(values, count,   i, j, swap) {
  for (i = 1; i <= count; i++)
    for (j = i + 1; j <= count; j++)
      if (values[j] < values[i]) { swap = values[i]; values[i] = values[j]; values[j] = swap }
  return values[int((count + 1) / 2)]
}
function number(line, name,   at) {
  at = index(line, "\"" name "\":")
  return at ? substr(line, at + length(name) + 3) + 0 : 0
}
# The latency, in us, below which a share of the fetches is: latencies are [[nanoseconds,count],...] in order.
function percentile(line, share,   text, pairs, n, i, pair, seen) {
  text = substr(line, index(line, "\"latencies\":[[") + 14)
  n = split(text, pairs, /\],\[/)
  for (i = 1; i <= n; i++) {
    split(pairs[i], pair, ",")
    seen += pair[2] + 0
    if (seen >= share * number(line, "count")) return pair[1] / 1000
  }
}
$1 == "perftest-1" { lat50[++lats] = $6; lat99[lats] = $9 }
$1 == "perftest-16" { bw[++bws] = $6 * 1e6 }
/^ours-/ { mismatches += number($0, "mismatches"); allocated += number($0, "allocatedBytes"); count += number($0, "count") }
$1 == "ours-1" { our50[++ours] = percentile($0, 0.5); our99[ours] = percentile($0, 0.99) }
$1 == "ours-16" { rate[++rates] = number($0, "count") * 1e9 / number($0, "elapsedNs") }
END {
  if (!ours || !rates || !lats || !bws) { print "# result: a round is missing"; exit 1 }
  a = median(our50, ours); b = median(lat50, lats); c = median(our99, ours); d = median(lat99, lats)
  e = median(rate, rates); f = median(bw, bws)
  printf "# result: fetch 4 KiB, depth 1: p50 %.1f us, ib_read_lat %.1f, ratio %.2f; p99 %.1f us, %.1f, ratio %.2f (medians of %d rounds)\n", a, b, a / b, c, d, c / d, ours
  printf "# result: fetch 4 KiB, depth 16: %.0f pages/s, ib_read_bw %.0f/s, ratio %.2f\n", e, f, e / f
  printf "# result: %d mismatches, %.2f bytes allocated per fetch, over %d fetches\n", mismatches, allocated / count, count
  exit mismatches > 0
}
