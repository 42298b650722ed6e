/** What {@code page-agent latency} shows: intervals of latencies, from a running agent or from a log. */
@NullMarked
package io.farpage.agent.latency;

import org.jspecify.annotations.NullMarked;
