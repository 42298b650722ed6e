/** {@code page-bench stress}: whether memory that an agent pages is what was written to it, whatever is done to it. */
@NullMarked
package io.farpage.guest.stress;

import org.jspecify.annotations.NullMarked;
