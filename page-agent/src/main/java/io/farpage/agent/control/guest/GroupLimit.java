package io.farpage.agent.control.guest;

import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.linux.MemoryHeadroom;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps the limit of a guest below what the control groups of its VMM leave. Resident pages are charged to those
 * groups, also where the agent installs them, and the kernel ends the VMM when a group is full. Eviction has to begin
 * before.
 *
 * @param headroom what the groups leave; empty if none of them is limited
 */
record GroupLimit(Optional<MemoryHeadroom> headroom) {
    private static final Logger log = LoggerFactory.getLogger(GroupLimit.class);

    /**
     * Least part of a group's free memory that is left to the VMM itself (its heap, its page tables). The reserve is an
     * eighth of the free memory if that is more.
     */
    private static final long LEAST_RESERVE = 16 << 20;

    /** As it is now. Hugepages are charged to other groups. */
    static GroupLimit of(int vmm, int pageBytes) {
        return new GroupLimit(pageBytes > 4096 ? Optional.empty() : MemoryHeadroom.ofGroups(vmm));
    }

    /** Bytes of guest memory that may become resident in addition to what is. */
    private static long room(MemoryHeadroom left) {
        return left.bytes() - Math.max(LEAST_RESERVE, left.bytes() / 8);
    }

    /**
     * The options with a limit that the groups allow.
     *
     * @param pages of the guest, none of them resident
     * @param pageBytes bytes of a page
     * @param least pages that the limit must be
     * @throws HandoffException if the groups leave less
     */
    PagerOptions lower(PagerOptions options, long pages, int pageBytes, long least) throws HandoffException {
        if (headroom.isEmpty()) {
            return options;
        }
        MemoryHeadroom left = headroom.get();
        long allowed = Math.max(0, room(left)) / pageBytes;
        if (Math.min(options.localPages(), pages) <= allowed) {
            return options;
        }
        if (allowed < least) {
            throw new HandoffException(
                    ("the control group of the VMM (%s) leaves %d bytes; %d resident pages, the least, need %d bytes"
                                    + " more: raise its limit")
                            .formatted(left.source(), left.bytes(), least, least * pageBytes - room(left)));
        }
        log.warn(
                "the control group of the VMM ({}) leaves {} bytes: the limit of local memory is {} bytes",
                left.source(),
                left.bytes(),
                allowed * pageBytes);
        return new PagerOptions((int) allowed, options.prefetchPages(), options.cyclePages(), options.flushDeadline());
    }

    /**
     * Checks a limit that is set while the guest runs.
     *
     * @param pages of the guest
     * @param resident of them now
     * @throws IllegalArgumentException if the groups leave less than that limit needs
     */
    void require(int localPages, long pages, long resident, int pageBytes) {
        long more = (Math.min(localPages, pages) - resident) * pageBytes;
        headroom.filter(left -> more > Math.max(0, room(left))).ifPresent(left -> {
            throw new IllegalArgumentException(
                    ("a limit of %d pages needs %d bytes more, and the control group of the VMM (%s) leaves %d; raise"
                                    + " the group's limit first")
                            .formatted(localPages, more, left.source(), left.bytes()));
        });
    }
}
