/** The life of an extent: which commands there are, and what each makes of an extent. Knows no cluster and no store. */
@NullMarked
package io.farpage.coordinator.extent;

import org.jspecify.annotations.NullMarked;
