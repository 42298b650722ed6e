/**
 * Coherent spaces: one memory that processes on several nodes use at once. The home of an extent runs a
 * {@link io.farpage.agent.data.coherence.Directory}, which knows for each page which nodes have it and whether one of
 * them may write to it; each node has a {@link io.farpage.agent.data.coherence.Member}, which pages the memory of its
 * process. They exchange messages; no member accesses the frames of a home.
 */
@NullMarked
package io.farpage.agent.data.coherence;

import org.jspecify.annotations.NullMarked;
