/**
 * {@code page-bench clone}: how long a clone takes to be at its first page, what a page costs that it touches, and how
 * much of a snapshot its clones share.
 */
@NullMarked
package io.farpage.bench.clone;

import org.jspecify.annotations.NullMarked;
