/** The interval log and its series. */
@NullMarked
package io.farpage.agent.control.latency;

import org.jspecify.annotations.NullMarked;
