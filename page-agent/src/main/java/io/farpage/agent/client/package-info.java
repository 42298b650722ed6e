/** Clients of an agent's REST API, over its socket or TCP, as the commands use them. */
@NullMarked
package io.farpage.agent.client;

import org.jspecify.annotations.NullMarked;
