package io.farpage.agent.data.pager.model;

/**
 * How a world differs from the usual one: a guest on a memory file with pages of 4 KiB, one home on another node, and a
 * kernel that can poison.
 */
enum Feature {
    /** The pages on other nodes live on two of them. Either may fall silent or be lost while the other answers. */
    TWO_HOMES,
    /** The pages on other nodes have two homes, each with all of them. Either home may fail and be dropped. */
    MIRRORED,
    /**
     * As {@link #MIRRORED}, and a third node may become a home, or one that was dropped again: it joins, the agent
     * copies the pages, and it is promoted.
     */
    JOINING,
    /**
     * The guest's memory is private (MAP_PRIVATE): nothing of it is evicted or saved, and a child has a copy of its
     * own.
     */
    PRIVATE,
    /** Pages of 2 MiB on hugetlbfs. */
    LARGE_PAGES,
    /** The space is encrypted: pages are sealed at their homes, and each guest seals under another key. */
    SEALED,
    /**
     * The agent may be killed, and started again: a successor adopts the page table and the messages that were read
     * last. No process forks.
     */
    KEPT,
    /** The kernel has no UFFDIO_POISON (Linux before 6.6). */
    NO_POISON,
    /**
     * The kernel has memory for half as many pages as may be resident. All of them can be evicted: no home is lost or
     * silent.
     */
    SCARCE_MEMORY,
    /** A guest knows which pages the homes have since the one before it ended; without this it fetches zeros, too. */
    PRESENCE,
    /**
     * The space is thin: each page on another node gets room when the agent has asked for it. A page of zeros gives it
     * back, between two guests and under one. Now and then there is no room. No home is lost.
     */
    THIN,
    /**
     * The space is a clone: as {@link #THIN}, but a page that has no room is read from the snapshot, which is at the
     * same homes, and its room is filled from there and never given back.
     */
    CLONE,
    /** Snapshots are made of the guest while it runs. */
    SNAPSHOT,
    /** One page at a time is prefetched from a home, written back to it or copied. */
    NARROW,
    /** Pages that were evicted are kept in the agent's memory, in half of the limit. */
    VICTIMS
}
