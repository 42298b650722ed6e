package io.farpage.agent.control.pins;

import java.util.Arrays;

/**
 * The io_urings of a table of descriptors: in which inspection each was last seen idle, that is, unlocked and with
 * neither buffers nor files registered. One thread.
 *
 * <p>While a call of its owner locks a ring, /proc does not tell what the ring has registered. A ring that was seen
 * idle once after a page was write-protected holds no pin on that page: buffers that are registered later are pinned
 * later, and pinning faults. So a locked ring need not be idle in the inspection that decides; an earlier inspection
 * that began after the protection is enough. A ring is known by its descriptor's number and its inode, which no two
 * rings share at a time.
 */
final class Rings {
    private static final long NONE = -1;

    private long[] inodes = new long[0];
    private long[] idleIn = new long[0];
    private int[] busy = new int[8];
    private int busyCount;
    private boolean any;

    /** A scan of all descriptors begins. */
    void begin() {
        busyCount = 0;
        any = false;
    }

    /** Whether the scan has found a ring. */
    boolean any() {
        return any;
    }

    /** Rings that the scan found locked and that were not seen idle since. */
    int busy() {
        return busyCount;
    }

    /** The descriptor of a ring that was found locked. */
    int busy(int index) {
        return busy[index];
    }

    /** A ring has been seen idle. */
    void idle(int number, long inode, long inspection) {
        any = true;
        reserve(number);
        inodes[number] = inode;
        idleIn[number] = inode == NONE ? 0 : inspection;
    }

    /** A ring is locked. */
    void busy(int number, long inode) {
        any = true;
        reserve(number);
        if (inodes[number] != inode || inode == NONE) {
            inodes[number] = inode;
            idleIn[number] = 0;
        }
        busy = busyCount < busy.length ? busy : Arrays.copyOf(busy, 2 * busyCount);
        busy[busyCount++] = number;
    }

    /**
     * A locked ring was examined again; true if it is the same ring and idle now, so that it no longer counts as busy.
     */
    boolean recheck(int index, long inode, long inspection) {
        int number = busy[index];
        if (inode == NONE || inodes[number] != inode) {
            return false;
        }
        idleIn[number] = inspection;
        busy[index] = busy[--busyCount];
        return true;
    }

    /**
     * The inspection since whose beginning each busy ring has been seen idle; {@code inspection} if none is busy, 0 if
     * one never was.
     */
    long provenSince(long inspection) {
        long proven = inspection;
        for (int i = 0; i < busyCount; i++) {
            proven = Math.min(proven, idleIn[busy[i]]);
        }
        return proven;
    }

    private void reserve(int number) {
        if (number >= inodes.length) {
            int was = inodes.length;
            int size = Math.max(64, Math.max(number + 1, 2 * was));
            inodes = Arrays.copyOf(inodes, size);
            idleIn = Arrays.copyOf(idleIn, size);
            Arrays.fill(inodes, was, size, NONE);
        }
    }
}
