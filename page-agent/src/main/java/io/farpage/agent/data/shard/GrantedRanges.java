package io.farpage.agent.data.shard;

import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The ranges of a peer's exported frames that the peer has granted to this node, each with its own key, as registered
 * with one of the peer's devices. Sorted and without overlaps. Immutable; looking up allocates nothing.
 */
public final class GrantedRanges {
    /** No range. */
    public static final int NONE = -1;

    /** The ranges of a peer that has granted nothing. */
    public static final GrantedRanges NOTHING = new GrantedRanges(List.of());

    private final long[] starts;
    private final long[] ends;
    private final long[] addresses;
    private final int[] rkeys;

    /**
     * One region of a peer.
     *
     * @param offset of its first byte from the start of the peer's exported frames
     * @param length in bytes, at least 1
     * @param address of its first byte, a virtual address at the peer
     * @param rkey the peer's key for it
     */
    public record Range(long offset, long length, long address, int rkey) {
        /** Does not show the key. */
        @Override
        public String toString() {
            return "range 0x%x+%d".formatted(offset, length);
        }
    }

    private GrantedRanges(List<Range> sorted) {
        int count = sorted.size();
        starts = new long[count];
        ends = new long[count];
        addresses = new long[count];
        rkeys = new int[count];
        for (int i = 0; i < count; i++) {
            Range range = sorted.get(i);
            starts[i] = range.offset();
            ends[i] = range.offset() + range.length();
            addresses[i] = range.address();
            rkeys[i] = range.rkey();
        }
    }

    /**
     * A table of ranges.
     *
     * @param ranges in any order
     * @throws IllegalArgumentException if two overlap, or one is empty or lies before the start or beyond 2^63
     */
    public static GrantedRanges of(List<Range> ranges) {
        List<Range> sorted =
                ranges.stream().sorted(Comparator.comparingLong(Range::offset)).toList();
        long end = 0;
        for (Range range : sorted) {
            if (range.length() <= 0 || range.offset() < end || range.offset() > Long.MAX_VALUE - range.length()) {
                throw new IllegalArgumentException(
                        range + " is empty, overlaps another one or lies outside of the peer's memory");
            }
            end = range.offset() + range.length();
        }
        return new GrantedRanges(sorted);
    }

    /**
     * The number of the range that has {@code length} bytes at {@code offset}, or {@link #NONE}. Any values may be
     * asked for.
     *
     * @param hint a number that an earlier call returned, of this table or another: tried first
     */
    int find(long offset, int length, int hint) {
        if (hint >= 0 && hint < starts.length && covers(hint, offset, length)) {
            return hint;
        }
        int low = 0;
        int high = starts.length - 1;
        while (low <= high) {
            int middle = (low + high) >>> 1;
            if (starts[middle] > offset) {
                high = middle - 1;
            } else {
                low = middle + 1;
            }
        }
        return high >= 0 && covers(high, offset, length) ? high : NONE;
    }

    private boolean covers(int range, long offset, int length) {
        return length >= 0 && offset >= starts[range] && offset <= ends[range] - length;
    }

    /** The peer's virtual address of {@code offset}, which lies in {@code range}. */
    long address(int range, long offset) {
        return addresses[range] + (offset - starts[range]);
    }

    int rkey(int range) {
        return rkeys[range];
    }

    int count() {
        return starts.length;
    }

    /** The same without a range. Allocates. */
    GrantedRanges without(int range) {
        Range[] rest = new Range[starts.length - 1];
        Arrays.setAll(rest, i -> range(i < range ? i : i + 1));
        return new GrantedRanges(List.of(rest));
    }

    /** All of them, sorted. Allocates. */
    public List<Range> ranges() {
        return IntStream.range(0, starts.length).mapToObj(this::range).toList();
    }

    private Range range(int i) {
        return new Range(starts[i], ends[i] - starts[i], addresses[i], rkeys[i]);
    }

    @Override
    public String toString() {
        return starts.length + " granted ranges";
    }
}
