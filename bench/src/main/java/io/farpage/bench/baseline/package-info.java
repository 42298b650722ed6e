/**
 * The C baseline: built where there is a C compiler, then run in rounds between those of farpage. Its source travels in
 * the jar. If it cannot be built, that is a value with the reason, not an error: the benchmark then reports no ratio.
 */
@NullMarked
package io.farpage.bench.baseline;

import org.jspecify.annotations.NullMarked;
