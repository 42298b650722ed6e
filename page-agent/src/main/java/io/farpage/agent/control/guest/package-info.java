/** Guests whose memory this agent pages: the handoff by their VMMs, their limits and their status. */
@NullMarked
package io.farpage.agent.control.guest;

import org.jspecify.annotations.NullMarked;
