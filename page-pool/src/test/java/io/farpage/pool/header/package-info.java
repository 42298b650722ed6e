/** Tests of the package. */
@NullMarked
package io.farpage.pool.header;

import org.jspecify.annotations.NullMarked;
