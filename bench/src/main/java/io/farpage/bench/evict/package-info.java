/** Which pages eviction chooses, against the best order and least recently used. */
@NullMarked
package io.farpage.bench.evict;

import org.jspecify.annotations.NullMarked;
