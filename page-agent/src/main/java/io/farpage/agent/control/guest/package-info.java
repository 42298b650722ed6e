/** Guests whose memory this agent pages: how their VMMs hand it over, and what people see and say of them. The control plane. */
@NullMarked
package io.farpage.agent.control.guest;

import org.jspecify.annotations.NullMarked;
