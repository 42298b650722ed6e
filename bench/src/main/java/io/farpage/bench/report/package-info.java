/**
 * What a benchmark found, and how it is told: figures of farpage and of its baseline, taken in turns, with the ratio
 * between them and the conditions they were taken under; written as a table, as {@code .hgrm} percentiles, as JSON and as
 * one self-contained HTML page.
 */
@NullMarked
package io.farpage.bench.report;

import org.jspecify.annotations.NullMarked;
