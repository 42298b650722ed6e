/**
 * The C baseline: built where there is a C compiler, then run beside farpage and in turns with it. Its source travels in
 * the jar. Where it cannot be had, that is a value with the reason, not an error: the benchmark then reports no ratio.
 */
@NullMarked
package io.farpage.bench.baseline;

import org.jspecify.annotations.NullMarked;
