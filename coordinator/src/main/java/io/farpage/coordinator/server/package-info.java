/** A coordinator that serves: its start, its leadership, its end, and what it shows of itself. */
@NullMarked
package io.farpage.coordinator.server;

import org.jspecify.annotations.NullMarked;
