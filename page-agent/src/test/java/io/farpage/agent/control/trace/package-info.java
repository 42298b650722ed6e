/** Spans of faults. */
@NullMarked
package io.farpage.agent.control.trace;

import org.jspecify.annotations.NullMarked;
