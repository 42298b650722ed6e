/** Tests of the package. */
@NullMarked
package io.farpage.pool.linux;

import org.jspecify.annotations.NullMarked;
