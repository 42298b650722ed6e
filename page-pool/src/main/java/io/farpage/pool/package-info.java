/**
 * The memory a node lends to others: one hugepage-backed, populated and locked mapping that holds a header page, the
 * exported frames and the staging frames. {@link io.farpage.pool.PagePool} is made once at start and lives as long as
 * its agent; what it could not get of what was wished for is a value ({@link io.farpage.pool.BackingStep}), never a
 * surprise.
 */
@NullMarked
package io.farpage.pool;

import org.jspecify.annotations.NullMarked;
