/** What a collector of traces gets. */
@NullMarked
package io.farpage.trace;

import org.jspecify.annotations.NullMarked;
