# Turns the rounds of 80-latency into medians and ratios.
# ib_read_lat: bytes iterations t_min t_max t_typical t_avg t_stdev 99% 99.9%; ib_read_bw: bytes iterations peak average(MB/s) Mpps.
function median(values, count,   i, j, swap) {
  for (i = 1; i <= count; i++)
    for (j = i + 1; j <= count; j++)
      if (values[j] < values[i]) { swap = values[i]; values[i] = values[j]; values[j] = swap }
  return values[int((count + 1) / 2)]
}
$1 == "ib_read_lat" { lat50[++lats] = $6; lat99[lats] = $9 }
$1 == "ib_read_bw" { bw[++bws] = $6 * 1e6 }
$1 == "ours-1" { our50[++ours] = $3; our99[ours] = $5; bytes += $13 }
$1 == "ours-16" { rate[++rates] = $11; bytes += $13 }
END {
  a = median(our50, ours); b = median(lat50, lats); c = median(our99, ours); d = median(lat99, lats)
  e = median(rate, rates); f = median(bw, bws)
  printf "# result: READ 4 KiB depth 1: p50 %.1f us, ib_read_lat %.1f, ratio %.2f; p99 %.1f us, %.1f, ratio %.2f (medians of %d rounds)\n", a, b, a / b, c, d, c / d, ours
  # median() has sorted them: the first is that of the quietest round.
  printf "# result: quietest round of each: p50 %.1f us, ib_read_lat %.1f, ratio %.2f; p99 ratio %.2f\n", our50[1], lat50[1], our50[1] / lat50[1], our99[1] / lat99[1]
  printf "# result: READ 4 KiB depth 16: %.0f/s, ib_read_bw %.0f/s, ratio %.2f\n", e, f, e / f
}
