/**
 * {@code page-bench footprint}: memory, threads and descriptors of an agent, and what a guest, a link and a page of a
 * guest add to them. The kernel and the JVM of the agent are asked from outside.
 */
@NullMarked
package io.farpage.bench.footprint;

import org.jspecify.annotations.NullMarked;
