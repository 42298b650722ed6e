package io.farpage.bench.pattern;

/** An endless sequence of page numbers. Owned by one thread; drawing a number allocates nothing. */
public sealed interface PageNumbers permits RandomPages, SequentialPages, ZipfPages {
    /** The next page to fetch, from 0 to one less than the number of pages. */
    long next();
}
