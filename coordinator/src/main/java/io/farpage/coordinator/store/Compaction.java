package io.farpage.coordinator.store;

/**
 * When the store's file is compacted, and how much of it at once.
 *
 * @param everyCommits commits from one compaction to the next, at least 1
 * @param fillPercent chunks of the file are rewritten while less than this part of all chunks is live, 0 to 100
 * @param bytes that one compaction rewrites at most
 * @param retentionMillis age from which a chunk may be rewritten and its room used again
 */
record Compaction(int everyCommits, int fillPercent, int bytes, int retentionMillis) {

    /** As MVStore has it by default: chunks of 45 s and older, one live byte in two. */
    static final Compaction STANDARD = new Compaction(1_000, 50, 4 << 20, 45_000);
}
