package io.farpage.it.harness;

/** How much of a soak is run: all of it, or the percentage that {@code -Dfarpage.soak.percent} gives. */
public final class Soak {
    private static final int PERCENT = Integer.getInteger("farpage.soak.percent", 100);

    private Soak() {}

    /** That percentage of a number of rounds, operations or seconds, rounded up. */
    public static int part(int whole) {
        return Math.ceilDiv(Math.multiplyExact(whole, PERCENT), 100);
    }
}
