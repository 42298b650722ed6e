package io.farpage.agent.control.guest;

import io.farpage.agent.control.page.SpacePresence;
import io.farpage.agent.control.seal.SealException;
import io.farpage.agent.control.seal.SpaceSeal;
import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.agent.data.seal.SealedSpace;
import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.Sockets;
import io.farpage.linux.uffd.Userfaultfd;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Checks what VMMs hand over for one guest, and makes the pagers of the first memory that is in order. Used by the
 * guest's thread.
 */
final class HandoffAdmission implements Guest.Admission {
    private static final Logger log = LoggerFactory.getLogger(HandoffAdmission.class);

    private final SpaceUse use;
    private final Recall recall;
    private final PagerOptions options;
    private final PagerHosts hosts;
    private final Keeping keeping;
    private SpacePast past;

    /**
     * Whether the guest outlives this process.
     *
     * @param by keeps it, if it can be kept
     * @param socket on which its VMM hands the memory over
     */
    record Keeping(GuestKeeping by, Path socket) {}

    /**
     * What an earlier guest of the space has left is asked for.
     *
     * @param presence knows it
     * @param replays whether pages that were in its memory are prefetched
     */
    record Recall(SpacePresence presence, boolean replays) {}

    /**
     * @param use of the space whose pages are the memory
     * @param past as far as it is known without asking the homes
     */
    HandoffAdmission(
            SpaceUse use, SpacePast past, Recall recall, PagerOptions options, PagerHosts hosts, Keeping keeping) {
        this.keeping = keeping;
        this.recall = recall;
        this.use = use;
        this.past = past;
        this.options = options;
        this.hosts = hosts;
    }

    @Override
    public void prepare() throws InterruptedException {
        if (past.written()) {
            past = recall.presence()
                    .read(use)
                    .map(map -> recall.replays() ? map : map.withoutWishes())
                    .map(past::as)
                    .orElse(past);
        }
    }

    @Override
    public Paging admit(HandoffConnection.Message message) throws HandoffException {
        List<Integer> open = new ArrayList<>(message.descriptors());
        Backing backing = null;
        Optional<KeptGuest> kept = Optional.empty();
        try {
            SpaceMap map = use.map();
            String space = map.name();
            Handoff.Layout layout = Handoff.parse(message.json(), map.pages() * map.pageSize());
            int pageBytes = layout.pageBytes();
            List<Slice> slices = layout.slices();
            Descriptors.check(open, slices);
            VmmPages.require(
                    pageBytes, map, open.size() > slices.size(), past.seal().isPresent());
            requireStaging(pageBytes);
            List<Userfaultfd> uffds = new ArrayList<>();
            for (int fd : open.subList(0, slices.size())) {
                Sockets.setBlocking(Errno.ofThread(), fd, false);
                uffds.add(Userfaultfd.adopt(fd));
            }
            if (open.size() > slices.size()) {
                if (use.base().isPresent() && !use.space().isThin()) {
                    throw new HandoffException("space '" + space + "' is a clone, and its coordinator gives it no room"
                            + " for pages that are evicted, since it is of an earlier build or has too many extents:"
                            + " hand private memory over, and the userfaultfds without a memory file");
                }
                backing = Backing.start(space, open.getLast(), message.pid(), hosts.pins());
                open.removeLast();
                Optional<String> obstacle =
                        backing.pins().unserved().or(() -> hugePages(message.pid(), slices, pageBytes));
                if (obstacle.isPresent()) {
                    throw new HandoffException(obstacle.get());
                }
            }
            VmmMemory memory = new VmmMemory(message.pid(), slices, uffds, backing);
            PagerOptions allowed = backing == null ? neverEvicted(memory, pageBytes) : withinGroups(memory, pageBytes);
            kept = keeping.by().keep(use, keeping.socket(), memory, allowed, past);
            kept.ifPresent(guest -> use.onExtents(guest::knows));
            Optional<SealedSpace> sealed = past.seal().isPresent()
                    ? Optional.of(past.seal().get().begin(kept.map(KeptGuest::seal)))
                    : Optional.empty();
            kept.ifPresent(guest -> guest.hold(memory));
            Paging paging = new SlicedPaging(
                    new SlicedPaging.Contents(
                            space, use::map, pageBytes, past.written(), past.presence(), sealed, kept),
                    memory,
                    allowed,
                    hosts);
            if (paging.isEvictable()) {
                // What the map at the homes says is right until the first page is written there.
                use.presence(Optional.empty());
            }
            kept = Optional.empty();
            backing = null;
            open.clear();
            log.info(
                    "space {}: guest of process {} attached, {} bytes, {} userfaultfds{}",
                    space,
                    memory.pid(),
                    memory.bytes(),
                    slices.size(),
                    paging.isEvictable() ? "" : "; without its memory file, so no page can be evicted");
            return paging;
        } catch (SealException e) {
            throw new HandoffException(String.valueOf(e.getMessage()));
        } finally {
            kept.ifPresent(KeptGuest::release);
            closeUnused(open, backing);
        }
    }

    /** Memory of hugetlbfs is evicted by its own pages. */
    private static Optional<String> hugePages(int vmm, List<Slice> slices, int pageBytes) {
        return pageBytes == GuestRecord.SMALL_PAGE ? HugePages.obstacle(vmm, slices) : Optional.empty();
    }

    private void requireStaging(int pageBytes) throws HandoffException {
        try {
            hosts.requireStaging(pageBytes);
        } catch (IllegalArgumentException e) {
            throw new HandoffException(String.valueOf(e.getMessage()));
        }
    }

    /** With the limit in pages of the VMM. It is only reported, since nothing is evicted. */
    private PagerOptions neverEvicted(VmmMemory memory, int pageBytes) {
        int ofSpace = use.map().pageSize();
        if (pageBytes == ofSpace || options.localPages() == Integer.MAX_VALUE) {
            return options;
        }
        int pages = GuestOpening.pages((long) options.localPages() * ofSpace, pageBytes);
        long least = LocalShares.minLimit(memory.slices().size());
        return new PagerOptions(
                (int) Math.max(pages, least), options.prefetchPages(), options.cyclePages(), options.flushDeadline());
    }

    private PagerOptions withinGroups(VmmMemory memory, int pageBytes) throws HandoffException {
        int count = memory.slices().size();
        return GroupLimit.of(memory.pid(), pageBytes)
                .lower(options, memory.bytes() / pageBytes, pageBytes, LocalShares.minLimit(count));
    }

    @Override
    public Optional<String> leave() throws SealException {
        if (past.seal().isEmpty()) {
            return Optional.empty();
        }
        return past.seal().get().end();
    }

    @Override
    public void close() {
        past.seal().ifPresent(SpaceSeal::close);
    }

    private static void closeUnused(List<Integer> descriptors, @Nullable Backing backing) {
        if (backing != null) {
            backing.close();
        }
        descriptors.forEach(fd -> FileIo.close(Errno.ofThread(), fd));
    }
}
