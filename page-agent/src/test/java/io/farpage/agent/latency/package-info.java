/** Intervals as they are shown. */
@NullMarked
package io.farpage.agent.latency;

import org.jspecify.annotations.NullMarked;
