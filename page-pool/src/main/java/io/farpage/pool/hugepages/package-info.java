/**
 * What the kernel's hugepage pools hold, and borrowing from the system's free memory for them for a while.
 */
@NullMarked
package io.farpage.pool.hugepages;

import org.jspecify.annotations.NullMarked;
