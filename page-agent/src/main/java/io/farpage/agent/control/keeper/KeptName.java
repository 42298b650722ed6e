package io.farpage.agent.control.keeper;

/**
 * The name of a descriptor that a keeper holds beside the pool: a group, such as a guest's, and a part of it.
 *
 * @param group 0 to 2<sup>55</sup> - 2
 * @param part 0 to 255
 */
public record KeptName(long group, int part) implements Comparable<KeptName> {
    private static final int PART_BITS = 8;

    /** The last group: behind the last name of it is another number. */
    public static final long LAST_GROUP = (1L << (63 - PART_BITS)) - 2;

    /** Checks the ranges. */
    public KeptName {
        if (group < 0 || group > LAST_GROUP || part < 0 || part >= 1 << PART_BITS) {
            throw new IllegalArgumentException("no name of a descriptor: group %d, part %d".formatted(group, part));
        }
    }

    /** Whether a number is a name's. */
    static boolean isValue(long value) {
        return value >= 0 && value >>> PART_BITS <= LAST_GROUP;
    }

    static KeptName of(long value) {
        return new KeptName(value >>> PART_BITS, (int) (value & ((1 << PART_BITS) - 1)));
    }

    long value() {
        return (group << PART_BITS) | part;
    }

    @Override
    public int compareTo(KeptName other) {
        return Long.compare(value(), other.value());
    }
}
