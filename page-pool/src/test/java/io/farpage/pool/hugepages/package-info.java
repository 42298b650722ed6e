/** Tests of the package. */
@NullMarked
package io.farpage.pool.hugepages;

import org.jspecify.annotations.NullMarked;
