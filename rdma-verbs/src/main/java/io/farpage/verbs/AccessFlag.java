package io.farpage.verbs;

import java.util.Set;

/**
 * What a memory region or a queue pair permits: {@code enum ibv_access_flags} (ibv_reg_mr(3)). Local reads are always
 * permitted.
 */
public enum AccessFlag {
    /** The device may write to the region on behalf of its owner: needed for READ and RECV. */
    LOCAL_WRITE(1),
    /** A peer may WRITE to the region; requires {@link #LOCAL_WRITE}. */
    REMOTE_WRITE(1 << 1),
    /** A peer may READ the region. */
    REMOTE_READ(1 << 2);

    private final int bit;

    AccessFlag(int bit) {
        this.bit = bit;
    }

    /** The flag's value in {@code enum ibv_access_flags}. */
    public int bit() {
        return bit;
    }

    /** The flags of {@code set}, or-ed together. */
    public static int bits(Set<AccessFlag> set) {
        int bits = 0;
        for (AccessFlag flag : set) {
            bits |= flag.bit;
        }
        return bits;
    }

    /**
     * Checks what {@code ibv_reg_mr} demands: remote write needs local write.
     *
     * @throws IllegalArgumentException naming the set
     */
    public static void requireConsistent(Set<AccessFlag> set) {
        if (set.contains(REMOTE_WRITE) && !set.contains(LOCAL_WRITE)) {
            throw new IllegalArgumentException(
                    "access " + set + " lets a peer write but lacks LOCAL_WRITE; add LOCAL_WRITE");
        }
    }
}
