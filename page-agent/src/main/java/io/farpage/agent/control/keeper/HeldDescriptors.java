package io.farpage.agent.control.keeper;

import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;

/** The descriptors that a keeper holds beside the pool, by name. One thread. */
final class HeldDescriptors {
    /** The most that are held, so that an agent that leaks leaves the keeper able to serve. */
    static final int CAPACITY = 8192;

    private final Errno errno;
    private final NavigableMap<KeptName, Integer> held = new TreeMap<>();

    HeldDescriptors(Errno errno) {
        this.errno = errno;
    }

    /**
     * Stores a descriptor and replaces one of the same name; false if there are too many, and then the descriptor is
     * the caller's.
     */
    boolean hold(KeptName name, int descriptor) {
        if (held.size() >= CAPACITY && !held.containsKey(name)) {
            return false;
        }
        Integer before = held.put(name, descriptor);
        if (before != null) {
            FileIo.close(errno, before);
        }
        return true;
    }

    /** Closes the descriptors of a group. */
    void release(long group) {
        NavigableMap<KeptName, Integer> all = held.subMap(new KeptName(group, 0), true, new KeptName(group, 255), true);
        all.values().forEach(descriptor -> FileIo.close(errno, descriptor));
        all.clear();
    }

    /** The first whose name is not below another. */
    Optional<Map.Entry<KeptName, Integer>> from(KeptName name) {
        return Optional.ofNullable(held.ceilingEntry(name));
    }

    boolean isEmpty() {
        return held.isEmpty();
    }

    /** Closes all of them. */
    void clear() {
        held.values().forEach(descriptor -> FileIo.close(errno, descriptor));
        held.clear();
    }
}
