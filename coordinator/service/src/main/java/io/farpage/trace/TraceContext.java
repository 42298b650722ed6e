package io.farpage.trace;

import java.util.HexFormat;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A span's place in its trace, as the header {@code traceparent} of <a href="https://www.w3.org/TR/trace-context/">W3C
 * Trace Context</a> carries it.
 *
 * @param high first half of the trace's id
 * @param low second half; not 0 together with the first
 * @param span id of the span, not 0
 * @param sampled whether its spans are recorded
 */
public record TraceContext(long high, long low, long span, boolean sampled) {
    /** Name of the header. */
    public static final String HEADER = "traceparent";

    private static final HexFormat HEX = HexFormat.of();
    private static final int RADIX = 16;
    private static final int HALF = 16;

    /** Versions after 00 may append fields; version ff is invalid. */
    private static final Pattern FORM =
            Pattern.compile("(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?");

    /** The context of a new trace's first span. */
    public static TraceContext root() {
        return new TraceContext(id(), id(), id(), true);
    }

    /** The context of a span below this one. */
    public TraceContext child() {
        return new TraceContext(high, low, id(), sampled);
    }

    private static long id() {
        long id;
        do {
            id = ThreadLocalRandom.current().nextLong();
        } while (id == 0);
        return id;
    }

    /** What a header says; empty if it is not valid, as the specification wants it. */
    public static Optional<TraceContext> parse(String header) {
        Matcher form = FORM.matcher(header);
        if (!form.matches() || (form.group(1).equals("00") && form.group(5) != null)) {
            return Optional.empty();
        }
        String trace = form.group(2);
        long high = Long.parseUnsignedLong(trace.substring(0, HALF), RADIX);
        long low = Long.parseUnsignedLong(trace.substring(HALF), RADIX);
        long span = Long.parseUnsignedLong(form.group(3), RADIX);
        if ((high | low) == 0 || span == 0) {
            return Optional.empty();
        }
        return Optional.of(new TraceContext(high, low, span, (Integer.parseInt(form.group(4), RADIX) & 1) != 0));
    }

    /** The header. */
    public String header() {
        return "00-" + HEX.toHexDigits(high) + HEX.toHexDigits(low) + "-" + HEX.toHexDigits(span)
                + (sampled ? "-01" : "-00");
    }
}
