package io.farpage.agent.control.guest;

import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.data.coherence.CoherentMembers;
import io.farpage.agent.data.coherence.MemberId;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.agent.data.pager.page.PresenceMap;
import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.Sockets;
import io.farpage.linux.uffd.Userfaultfd;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Checks what VMMs hand over for the guest of a coherent space: one userfaultfd and the memory file behind it, in pages
 * of 4 KiB, that nothing can write to past write protection. Used by the guest's thread.
 */
final class MemberAdmission implements Guest.Admission {
    private static final Logger log = LoggerFactory.getLogger(MemberAdmission.class);

    private final SpaceUse use;
    private final MemberId id;
    private final PagerOptions options;
    private final CoherentMembers members;
    private final PagerHosts hosts;
    private final HandoffAdmission.Keeping keeping;

    /** @param use of the space whose pages are the memory */
    MemberAdmission(
            SpaceUse use,
            GuestOpening.Membership membership,
            PagerOptions options,
            PagerHosts hosts,
            HandoffAdmission.Keeping keeping) {
        this.use = use;
        this.options = options;
        this.hosts = hosts;
        this.keeping = keeping;
        members = membership.members();
        id = membership.idOf(use);
    }

    @Override
    public Paging admit(HandoffConnection.Message message) throws HandoffException {
        List<Integer> open = new ArrayList<>(message.descriptors());
        Backing backing = null;
        Optional<KeptGuest> kept = Optional.empty();
        try {
            SpaceMap map = use.map();
            Handoff.Layout layout = Handoff.parse(message.json(), map.pages() * map.pageSize());
            List<Slice> slices = layout.slices();
            check(map, layout, open.size());
            Descriptors.check(open, slices);
            Sockets.setBlocking(Errno.ofThread(), open.getFirst(), false);
            backing = Backing.start(
                    map.name(), open.getLast(), message.pid(), hosts.pins().refusing());
            open.removeLast();
            Optional<String> obstacle = backing.pins()
                    .unserved()
                    .or(() -> HugePages.obstacle(message.pid(), slices))
                    .or(() -> filled(message.pid(), slices));
            if (obstacle.isPresent()) {
                throw new HandoffException(obstacle.get());
            }
            VmmMemory memory =
                    new VmmMemory(message.pid(), slices, List.of(Userfaultfd.adopt(open.getFirst())), backing);
            PagerOptions allowed = withinGroups(memory);
            kept = keeping.by()
                    .keep(
                            use,
                            keeping.socket(),
                            memory,
                            allowed,
                            new SpacePast(true, PresenceMap.unknown((int) map.pages()), Optional.empty()));
            kept.ifPresent(guest -> guest.hold(memory));
            Paging paging =
                    new MemberPaging(new MemberPaging.Contents(id, use::map, memory, kept), allowed, members, hosts);
            kept = Optional.empty();
            backing = null;
            open.clear();
            log.info(
                    "space {}: guest of process {} is a member, {} bytes{}",
                    map.name(),
                    memory.pid(),
                    memory.bytes(),
                    paging.isKept() ? "" : "; it ends with this agent");
            return paging;
        } finally {
            kept.ifPresent(KeptGuest::release);
            closeUnused(open, backing);
        }
    }

    private static void check(SpaceMap map, Handoff.Layout layout, int descriptors) throws HandoffException {
        String space = "space '" + map.name() + "' is coherent, and ";
        if (layout.pageBytes() != map.pageSize()) {
            throw new HandoffException(space
                    + "the VMM's memory has pages of %d bytes; start it without huge pages, with pages of %d"
                            .formatted(layout.pageBytes(), map.pageSize()));
        }
        if (layout.slices().size() != 1) {
            throw new HandoffException(space
                    + "the message names %d userfaultfds; send one for all the memory"
                            .formatted(layout.slices().size()));
        }
        if (descriptors == 1) {
            throw new HandoffException(space + "no memory file came with the userfaultfd, so other members could not"
                    + " get what the VMM writes; start it with shared memory (memory-backend-memfd,share=on)");
        }
    }

    /** Memory into which the VMM may put pages itself, which no home would know. */
    private static Optional<String> filled(int vmm, List<Slice> slices) {
        return RamMappings.areFilledByVmm(vmm, slices)
                ? Optional.of("the memory is registered for minor faults, so the VMM may fill pages of a coherent space"
                        + " that other members have; register it with UFFDIO_REGISTER_MODE_MISSING and _WP alone")
                : Optional.empty();
    }

    private PagerOptions withinGroups(VmmMemory memory) throws HandoffException {
        int pageBytes = use.map().pageSize();
        return GroupLimit.of(memory.pid(), pageBytes)
                .lower(options, memory.bytes() / pageBytes, pageBytes, LocalShares.minLimit(1));
    }

    private static void closeUnused(List<Integer> descriptors, @Nullable Backing backing) {
        if (backing != null) {
            backing.close();
        }
        descriptors.forEach(fd -> FileIo.close(Errno.ofThread(), fd));
    }
}
