/** Tests of the package. */
@NullMarked
package io.farpage.pool.frames;

import org.jspecify.annotations.NullMarked;
