package io.farpage.agent.data.mount;

import io.farpage.agent.data.pager.home.SpaceMap;
import java.util.function.Supplier;

/**
 * A space that no node writes to, as a file. Any thread.
 *
 * @param node the kernel's number of the file
 * @param size bytes
 * @param map the latest map of the space
 * @param runs which pages the homes have
 */
public record ReadableFile(long node, long size, Supplier<SpaceMap> map, PresentRuns runs) {}
