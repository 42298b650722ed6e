package io.farpage.pool.hugepages;

/** The hugepage sizes that a pool can be made of. */
public enum HugepageSize {
    /** 2 MiB. */
    TWO_MIB(21, "2 MiB"),
    /** 1 GiB; usually available only if reserved at boot. */
    ONE_GIB(30, "1 GiB");

    private final int shift;
    private final String label;

    HugepageSize(int shift, String label) {
        this.shift = shift;
        this.label = label;
    }

    /** Bytes of one hugepage. */
    public long bytes() {
        return 1L << shift;
    }

    /** The log₂ of {@link #bytes()}. */
    public int shift() {
        return shift;
    }

    /** How many of these hold {@code bytes}, rounded up. */
    public long pagesFor(long bytes) {
        return Math.ceilDiv(bytes, bytes());
    }

    /** The name of this size's folder under {@code /sys/kernel/mm/hugepages}. */
    public String folder() {
        return "hugepages-" + (bytes() >> 10) + "kB";
    }

    @Override
    public String toString() {
        return label;
    }
}
