package io.farpage.bench.footprint;

/** A line of a table: what the figures are of. */
record Row(String name, Figures figures) {}
