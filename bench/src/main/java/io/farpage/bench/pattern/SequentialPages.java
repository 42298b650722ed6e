package io.farpage.bench.pattern;

final class SequentialPages implements PageNumbers {
    private final long pages;
    private long next;

    SequentialPages(long pages) {
        this.pages = pages;
    }

    @Override
    public long next() {
        long page = next;
        next = page + 1 == pages ? 0 : page + 1;
        return page;
    }
}
