/** Traces of faults: what pagers have put aside becomes spans, on a thread of the control plane. */
@NullMarked
package io.farpage.agent.control.trace;

import org.jspecify.annotations.NullMarked;
