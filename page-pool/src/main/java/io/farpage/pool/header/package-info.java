/**
 * The first page of a pool, by which a peer that READs it knows whose memory, and which start of it, it has reached.
 */
@NullMarked
package io.farpage.pool.header;

import org.jspecify.annotations.NullMarked;
