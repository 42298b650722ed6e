/** What the parts of farpage promise together, shown with real processes that are started, stopped and killed. */
@NullMarked
package io.farpage.it;

import org.jspecify.annotations.NullMarked;
