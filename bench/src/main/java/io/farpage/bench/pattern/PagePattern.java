package io.farpage.bench.pattern;

import java.util.Locale;

/** The order in which a benchmark walks its pages. */
public enum PagePattern {
    /** Each page as likely as any other. */
    RANDOM,
    /** 0, 1, 2, … and around again. */
    SEQUENTIAL,
    /** A few pages most of the time: the page of rank r comes r<sup>-exponent</sup> times as often as the first. */
    ZIPF;

    /** The most pages a sequence can cover. */
    public static final long MAX_PAGES = 1L << 31;

    /**
     * A new sequence.
     *
     * @param pages how many pages there are, from 1 to {@link #MAX_PAGES}
     * @param seed where random and zipf start; the same seed gives the same sequence
     * @param exponent of zipf, from 0.01 to 10; the others ignore it
     */
    public PageNumbers over(long pages, long seed, double exponent) {
        if (pages < 1 || pages > MAX_PAGES) {
            throw new IllegalArgumentException(pages + " pages; must be from 1 to " + MAX_PAGES);
        }
        return switch (this) {
            case RANDOM -> new RandomPages(pages, seed);
            case SEQUENTIAL -> new SequentialPages(pages);
            case ZIPF -> new ZipfPages(pages, seed, exponent);
        };
    }

    /** The name in lower case, as options and reports spell it. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
