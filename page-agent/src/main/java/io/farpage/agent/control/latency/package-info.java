/**
 * Latencies over time: what the recorders of the shards hold is collected in intervals, for the interval log on disk
 * and for {@code page-agent latency}. All of it happens on threads of the control plane; a recorder's writer is never
 * held up.
 */
@NullMarked
package io.farpage.agent.control.latency;

import org.jspecify.annotations.NullMarked;
