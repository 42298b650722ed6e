package io.farpage.agent.control.guest;

import io.farpage.agent.control.seal.SealException;
import io.farpage.agent.control.seal.Seals;
import io.farpage.agent.control.seal.SpaceSeal;
import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.data.pager.page.KeptTable;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.agent.data.pager.page.PresenceMap;
import io.farpage.agent.data.seal.SealedSpace;
import io.farpage.coordinator.model.Encryption;
import io.farpage.coordinator.model.Space;
import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.Memory;
import io.farpage.linux.ProcessFd;
import io.farpage.linux.uffd.Userfaultfd;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.Optional;

/**
 * A guest that an earlier process of this node has left, as the keeper holds it. It may be unusable: then its
 * descriptors stay open, at the keeper too, until its VMM has ended, since the kernel would show the VMM zeros once the
 * last one is closed. One thread.
 */
final class LeftGuest {
    /** An address at which no guest has memory. */
    private static final long NOWHERE = 0x10000;

    private final long space;
    private final GuestKeeping keeping;
    private final NavigableMap<Integer, Integer> parts;
    private Optional<KeptGuest> kept = Optional.empty();
    private Optional<SpaceSeal> seal = Optional.empty();
    private Optional<SpaceUse> use = Optional.empty();
    private long lockedUntil = System.nanoTime();
    private Optional<String> refusal = Optional.empty();

    private LeftGuest(long space, GuestKeeping keeping, NavigableMap<Integer, Integer> parts) {
        this.space = space;
        this.keeping = keeping;
        this.parts = parts;
    }

    /** @param parts the descriptors that the keeper holds of it, by part; this one's to close */
    static LeftGuest of(long space, GuestKeeping keeping, NavigableMap<Integer, Integer> parts) {
        LeftGuest left = new LeftGuest(space, keeping, parts);
        try {
            left.kept = Optional.of(
                    KeptGuest.open(keeping.keeper().orElseThrow(), keeping.node(), space, parts, Memory::mlock));
        } catch (KeptGuestException e) {
            left.refuse(String.valueOf(e.getMessage()));
        }
        return left;
    }

    long space() {
        return space;
    }

    /** The name of its space, as far as that can be read. */
    String name() {
        return kept.map(one -> one.record().name()).orElse("with id " + space);
    }

    /** Process id of its VMM; 0 if it cannot be read. */
    int pid() {
        return kept.map(one -> one.record().pid()).orElse(0);
    }

    /** What is known of it. Empty if it cannot be read. */
    Optional<GuestRecord> record() {
        return kept.map(KeptGuest::record);
    }

    /** The use of its space, once the attachment has passed to this process. Kept over attempts to serve the guest. */
    Optional<SpaceUse> use() {
        return use;
    }

    void use(Optional<SpaceUse> begun) {
        use = begun;
        if (kept.orElseThrow().member().isEmpty()) {
            begun.ifPresent(attached -> attached.onExtents(kept.orElseThrow()::knows));
        }
    }

    /** Why it is not served; empty if it may be. */
    Optional<String> refusal() {
        return refusal;
    }

    /** It is not served. Nothing of it has been changed. */
    void refuse(String why) {
        refusal = Optional.of(why);
    }

    /**
     * Opens its space, if that is encrypted.
     *
     * @throws SealException if the key is not available; the call may be repeated
     */
    void unlock(Seals seals) throws SealException {
        KeptGuest guest = kept.orElseThrow();
        GuestRecord record = guest.record();
        if (seal.isEmpty() && record.sealed().isPresent()) {
            GuestRecord.Sealed sealed = record.sealed().get();
            seal = Optional.of(seals.adopt(
                    record.space(),
                    record.pageBytes(),
                    sealed.keyId(),
                    sealed.saltBytes(),
                    guest.seal().table()));
        }
    }

    /** When its key may be asked for again, as {@link System#nanoTime}. */
    long lockedUntil() {
        return lockedUntil;
    }

    void lockUntil(long nanos) {
        lockedUntil = nanos;
    }

    /** What seals the pages of an encrypted space. */
    Optional<SpaceSeal> seal() {
        return seal;
    }

    /**
     * Makes its pagers, which serve nothing before they are started. If that fails, it may be tried again: nothing of
     * the attempt is left but the record, which names this incarnation, and a page table that was adopted and can be
     * adopted once more.
     *
     * @param use of its space, exclusive
     * @throws KeptGuestException if it cannot be served
     */
    Paging paging(SpaceUse use, PagerOptions options, PagerHosts hosts) throws KeptGuestException {
        KeptGuest guest = kept.orElseThrow();
        GuestRecord record = guest.record();
        requireSize(use, record);
        requireKey(use.space(), record);
        int file = Objects.requireNonNull(parts.get(KeptGuest.MEMORY));
        List<Slice> slices = new ArrayList<>();
        for (int i = 0; i < record.slices().size(); i++) {
            slices.add(adopt(guest.table(i), record.slices().get(i), record, file));
        }
        Backing backing = null;
        try {
            Optional<SealedSpace> sealed =
                    seal.isPresent() ? Optional.of(seal.get().begin(Optional.of(guest.seal()))) : Optional.empty();
            backing = Backing.start(record.name(), file, record.pid(), hosts.pins());
            List<Userfaultfd> uffds = new ArrayList<>();
            parts.tailMap(KeptGuest.USERFAULTFD).values().forEach(fd -> uffds.add(Userfaultfd.adopt(fd)));
            guest.succeed(keeping.incarnation());
            SlicedPaging paging = new SlicedPaging(
                    new SlicedPaging.Contents(
                            record.name(),
                            use::map,
                            record.pageBytes(),
                            record.written(),
                            PresenceMap.unknown(record.pages()),
                            sealed,
                            kept),
                    new VmmMemory(record.pid(), slices, uffds, backing),
                    options,
                    hosts);
            backing = null;
            return paging;
        } catch (HandoffException | SealException e) {
            throw new KeptGuestException(String.valueOf(e.getMessage()));
        } finally {
            if (backing != null) {
                backing.pins().close();
            }
        }
    }

    private static void requireSize(SpaceUse use, GuestRecord record) throws KeptGuestException {
        if (use.map().pages() != record.pages() || use.map().pageSize() != record.pageBytes()) {
            throw new KeptGuestException("its space has %d pages of %d bytes, and its record %d of %d"
                    .formatted(use.map().pages(), use.map().pageSize(), record.pages(), record.pageBytes()));
        }
    }

    /**
     * As {@link #paging}, of the guest of a coherent space.
     *
     * @param use of its space, as a member
     */
    Paging memberPaging(SpaceUse use, GuestOpening.Membership membership, PagerOptions options, PagerHosts hosts)
            throws KeptGuestException {
        KeptGuest guest = kept.orElseThrow();
        GuestRecord record = guest.record();
        requireSize(use, record);
        int file = Objects.requireNonNull(parts.get(KeptGuest.MEMORY));
        Optional<String> failure =
                FilePages.ask(file, 0, record.pageBytes(), guest.member().orElseThrow()::adopt);
        if (failure.isPresent()) {
            throw new KeptGuestException(failure.get());
        }
        Backing backing = null;
        try {
            backing = Backing.start(
                    record.name(), file, record.pid(), hosts.pins().refusing());
            Userfaultfd uffd = Userfaultfd.adopt(Objects.requireNonNull(parts.get(KeptGuest.USERFAULTFD)));
            guest.succeed(keeping.incarnation());
            Paging paging = new MemberPaging(
                    new MemberPaging.Contents(
                            membership.idOf(use),
                            use::map,
                            new VmmMemory(record.pid(), record.slices(), List.of(uffd), backing),
                            kept),
                    options,
                    membership.members(),
                    hosts);
            backing = null;
            return paging;
        } catch (HandoffException e) {
            throw new KeptGuestException(String.valueOf(e.getMessage()));
        } finally {
            if (backing != null) {
                backing.pins().close();
            }
        }
    }

    /** Adopts the table of a slice. Returns the slice as it is mapped now. */
    private static Slice adopt(KeptTable table, Slice slice, GuestRecord record, int file) throws KeptGuestException {
        Optional<String> failure = FilePages.ask(
                file,
                slice.base(),
                record.pageBytes(),
                pages -> table.adopt(slice.regions(), record.pageBytes(), pages, record.written()));
        if (failure.isPresent()) {
            throw new KeptGuestException(failure.get());
        }
        return new Slice(slice.base(), slice.firstPage(), slice.pages(), table.regions(slice.regions()));
    }

    private static void requireKey(Space space, GuestRecord record) throws KeptGuestException {
        Optional<String> now = space.encryption().map(Encryption::keyId);
        Optional<String> before = record.sealed().map(GuestRecord.Sealed::keyId);
        if (!now.equals(before)) {
            throw new KeptGuestException("the coordinator says that its space is %s, and it was %s"
                    .formatted(encrypted(now), encrypted(before)));
        }
    }

    private static String encrypted(Optional<String> key) {
        return key.map(id -> "encrypted with key " + id).orElse("not encrypted");
    }

    /** Passes its descriptors to the keeper for another successor, if the keeper is started again. */
    void holdOn() {
        keeping.hold(space, parts);
    }

    /** Whether its VMM has ended. */
    boolean isOver() {
        Integer process = parts.get(KeptGuest.PROCESS);
        return process != null
                ? ProcessFd.hasEnded(process)
                : parts.tailMap(KeptGuest.USERFAULTFD).values().stream().anyMatch(LeftGuest::isOfEndedProcess);
    }

    /**
     * Whether the process that registered its memory with a userfaultfd has ended. An agent that is killed while it
     * passes descriptors to the keeper has passed the userfaultfds first.
     */
    private static boolean isOfEndedProcess(int userfaultfd) {
        return Userfaultfd.adopt(userfaultfd).continueAt(NOWHERE, GuestRecord.SMALL_PAGE) == -Errno.ESRCH;
    }

    /** Gives it up. */
    void close() {
        keeping.keeper().ifPresent(keeper -> keeper.release(space));
        parts.values().forEach(descriptor -> FileIo.close(Errno.ofThread(), descriptor));
        parts.clear();
        seal.ifPresent(SpaceSeal::close);
    }
}
