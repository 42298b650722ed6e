/** Tests of the pool. */
@NullMarked
package io.farpage.pool;

import org.jspecify.annotations.NullMarked;
