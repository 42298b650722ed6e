package io.farpage.agent.control.mount;

import java.util.function.LongSupplier;

/**
 * What all mounts of an agent share.
 *
 * @param spaces the snapshots that they show
 * @param shard on which they are read
 * @param clock monotonic nanoseconds
 * @param counters what they have given
 */
record MountContext(SnapshotSpaces spaces, MountShard shard, LongSupplier clock, MountCounters counters) {}
