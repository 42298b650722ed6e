package io.farpage.bench.pattern;

final class RandomPages implements PageNumbers {
    private final long pages;
    private final Xorshift random;

    RandomPages(long pages, long seed) {
        this.pages = pages;
        this.random = new Xorshift(seed);
    }

    /** Scales by the high half of a product: no division, and a bias below 2<sup>-33</sup> for any number of pages. */
    @Override
    public long next() {
        return Math.unsignedMultiplyHigh(random.next(), pages);
    }
}
