/**
 * The results of a benchmark and their formats: figures of farpage and of its baseline, from alternating rounds, with
 * the ratio between them and the conditions they were taken under; written as a table, as {@code .hgrm} percentiles, as
 * JSON and as one self-contained HTML page.
 */
@NullMarked
package io.farpage.bench.report;

import org.jspecify.annotations.NullMarked;
