/**
 * Reads of snapshots that are mounted as files, on a shard's thread: requests of the kernel are answered from the
 * frames in which the pages arrive. What needs more than pages is passed on to the control plane.
 */
@NullMarked
package io.farpage.agent.data.mount;

import org.jspecify.annotations.NullMarked;
