/**
 * Who holds which frame: a lock-free, allocation-free allocator of frame indices. It knows numbers only, no memory.
 */
@NullMarked
package io.farpage.pool.frames;

import org.jspecify.annotations.NullMarked;
