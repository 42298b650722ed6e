package io.farpage.agent.control.seal;

import io.farpage.agent.data.seal.SealTable;
import java.util.Optional;
import java.util.SortedMap;

/**
 * Where tags, versions and salts of an attached space are, so that another process can go on with them when this one is
 * killed.
 */
public interface KeptSeal {
    /** Tags and versions: zeros, or what an earlier process has left. */
    SealTable table();

    /**
     * Replaces the salts of the keys that pages are sealed with, by generation. A process that is killed meanwhile
     * leaves those before.
     *
     * @return why they could not be, if so; then those before stay
     */
    Optional<String> salts(SortedMap<Integer, byte[]> salts);
}
