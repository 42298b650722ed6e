/**
 * Pulls: a home that joins an extent reads the pages from the other homes into its own pool. The data moves on a
 * shard's thread; the coordinator lists what must be pulled.
 */
@NullMarked
package io.farpage.agent.control.pull;

import org.jspecify.annotations.NullMarked;
