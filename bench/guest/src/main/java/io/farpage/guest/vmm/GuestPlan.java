package io.farpage.guest.vmm;

import io.farpage.guest.vmm.GuestMemory.Backing;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * What a guest does.
 *
 * @param memoryBytes its RAM, a multiple of the backing's page, up to 32 GiB
 * @param backing of the RAM
 * @param socket where an agent waits for the RAM; empty for local memory
 * @param pagers how many of the agent's serve the RAM, each through a userfaultfd of its own
 * @param vcpus how many share the pages, 1 to 64 and not more than there are pages
 * @param walk order of the pages within a vCPU's share
 * @param stride distance of {@link Walk#STRIDE}, in pages
 * @param words of each page to touch, a power of two from 1 to 512
 * @param passes one after another, each over all pages
 * @param counted how often each page was counted, for {@link Pass#COUNTED}
 * @param seed of content and random order
 * @param timeout how long a pass may take
 */
record GuestPlan(
        long memoryBytes,
        Backing backing,
        Optional<Path> socket,
        int pagers,
        int vcpus,
        Walk walk,
        long stride,
        int words,
        List<Pass> passes,
        long counted,
        long seed,
        Duration timeout) {
    private static final int MAX_VCPUS = 64;
    private static final int WORDS_OF_A_PAGE = 512;

    /** @throws IllegalArgumentException naming the option, the value and what is allowed */
    GuestPlan {
        passes = List.copyOf(passes);
        require(
                memoryBytes > 0 && memoryBytes % backing.pageBytes() == 0 && memoryBytes <= BootMemory.MAX_RAM,
                "--memory is " + memoryBytes + " bytes; it must be a multiple of " + backing.pageBytes()
                        + " up to 32GiB");
        require(
                pagers >= 1 && pagers <= Handoff.MAX_USERFAULTFDS && pagers <= memoryBytes / PageRange.PAGE_BYTES,
                "--pagers is " + pagers + "; it must be from 1 to " + Handoff.MAX_USERFAULTFDS
                        + ", and not more than there are pages");
        require(
                vcpus >= 1 && vcpus <= MAX_VCPUS && vcpus <= memoryBytes / PageRange.PAGE_BYTES,
                "--vcpus is " + vcpus + "; it must be from 1 to " + MAX_VCPUS + ", and not more than there are pages");
        require(stride >= 1, "--stride is " + stride + "; it must be at least 1");
        require(
                words >= 1 && words <= WORDS_OF_A_PAGE && Integer.bitCount(words) == 1,
                "--words is " + words + "; it must be a power of two from 1 to 512");
        require(!passes.isEmpty(), "--passes is empty; give at least one, for example write,read");
        require(timeout.isPositive(), "--timeout is " + timeout + "; it must be longer than nothing");
        if (passes.stream().anyMatch(Pass::counts)) {
            require(
                    passes.stream().allMatch(Pass::counts),
                    "--passes has count or counted beside others; these write over the counts");
            require(counted >= 0, "--counted is " + counted + "; it must be 0 or more");
        } else {
            requireOrder(passes);
        }
    }

    long pages() {
        return memoryBytes / PageRange.PAGE_BYTES;
    }

    private static void requireOrder(List<Pass> passes) {
        boolean written = false;
        for (Pass pass : passes) {
            require(
                    written || pass == Pass.ZEROS || pass == Pass.WRITE,
                    "--passes has " + pass.label() + " before a write; nothing is known of the pages there but zeros");
            require(!written || pass != Pass.ZEROS, "--passes has zeros after a write; the pages are no longer zeros");
            written |= pass.writes();
        }
    }

    private static void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new IllegalArgumentException(otherwise);
        }
    }
}
