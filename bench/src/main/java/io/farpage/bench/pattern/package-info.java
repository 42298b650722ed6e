/**
 * Which page is fetched next: endless, allocation-free sequences of page numbers, the same for the same seed, and the
 * same as the C baseline's, so that both walk the same pages.
 */
@NullMarked
package io.farpage.bench.pattern;

import org.jspecify.annotations.NullMarked;
