package io.farpage.guest.vmm;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * What a guest found, as {@code page-bench guest-vm} prints it.
 *
 * @param memory local, or remote if an agent had it
 * @param memoryBytes the guest's RAM
 * @param backing of the RAM: memfd or anonymous
 * @param vcpus that shared the pages
 * @param walk order of the pages
 * @param words of each page that were touched
 * @param seed of content and random order
 * @param passes in their order
 */
public record GuestResult(
        String memory,
        long memoryBytes,
        String backing,
        int vcpus,
        String walk,
        int words,
        long seed,
        List<PassResult> passes) {
    public GuestResult {
        passes = List.copyOf(passes);
    }

    /**
     * One pass.
     *
     * @param pass what it did
     * @param pages visited
     * @param mismatches words that did not hold what they should
     * @param firstMismatch the first that one of the vCPUs found, for people; empty if there was none
     * @param ns from the start of the vCPUs to the end of the last; of emulated instructions as well as of faults
     */
    public record PassResult(String pass, long pages, long mismatches, String firstMismatch, long ns) {}

    /** Visits of a page, over all passes. */
    @JsonProperty
    public long pagesTouched() {
        return passes.stream().mapToLong(PassResult::pages).sum();
    }

    /** Words that did not hold what they should, over all passes. */
    @JsonProperty
    public long mismatches() {
        return passes.stream().mapToLong(PassResult::mismatches).sum();
    }

    /** Nanoseconds, over all passes. */
    @JsonProperty
    public long ns() {
        return passes.stream().mapToLong(PassResult::ns).sum();
    }
}
