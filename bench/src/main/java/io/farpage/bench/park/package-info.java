/**
 * {@code page-bench park}: how fast the memory of a guest leaves for its home and comes back, beside a C program that
 * reads as many pages over the same TCP.
 */
@NullMarked
package io.farpage.bench.park;

import org.jspecify.annotations.NullMarked;
