package io.farpage.agent.control.guest;

import io.farpage.agent.control.keeper.KeptMemory;
import io.farpage.agent.control.keeper.KeptName;
import io.farpage.agent.control.seal.KeptSeal;
import io.farpage.agent.data.coherence.KeptMember;
import io.farpage.agent.data.pager.Pager;
import io.farpage.agent.data.pager.page.KeptTable;
import io.farpage.agent.data.seal.SealTable;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.Memory;
import io.farpage.linux.SharedMemory;
import io.farpage.linux.SystemCall;
import io.farpage.linux.uffd.MemoryFile;
import io.farpage.pool.PoolRecord;
import io.farpage.rest.Json;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;

/**
 * A guest that outlives this process. The keeper has a descriptor of a memfd that holds its record, the messages of the
 * kernel that were read last, its page tables, and tags and versions of its pages if they are encrypted; the keeper
 * holds the userfaultfds, the memory file and the VMM's process descriptor, too.
 *
 * <pre>
 * offset
 *      0   the record, in two slots
 * 512 KiB  messages, 4096 bytes for each slice, and large pages with parts that were given up
 * 768 KiB  where the memory is mapped, if that has changed; each slice has an equal share
 *   1 MiB  page tables, one behind the other, each from a multiple of 4096; then tags and versions. For a member of a
 *          coherent space, the states of its pages
 * </pre>
 *
 * <p>Thread-safe.
 */
final class KeptGuest {
    /** The file; the keeper holds it only if it holds all other parts. */
    static final int FILE = 0;

    /** The file behind the guest's memory. */
    static final int MEMORY = 1;

    /** The VMM's process. */
    static final int PROCESS = 2;

    /** The first userfaultfd. */
    static final int USERFAULTFD = 16;

    private static final Logger log = LoggerFactory.getLogger(KeptGuest.class);
    private static final long RECORD_BYTES = 512 << 10;
    private static final long LAYOUTS_AT = 768 << 10;
    private static final long LAYOUTS_BYTES = 256 << 10;

    private final KeptMemory keeper;
    private final int file;
    private final int process;
    private final PoolRecord text;
    private final SealTable seals;
    private final List<KeptTable> tables = new ArrayList<>();
    /** In place of tables, for the guest of a coherent space. */
    private final Optional<KeptMember> member;

    private GuestRecord record;
    private Optional<String> unlocked = Optional.empty();
    private boolean released;

    /** {@code mlock(2)}. */
    interface Lock {
        SystemCall lock(long address, long bytes);
    }

    private KeptGuest(KeptMemory keeper, int file, int process, MemorySegment memory, GuestRecord record, Lock lock) {
        this.keeper = keeper;
        this.file = file;
        this.process = process;
        this.record = record;
        text = new PoolRecord(memory.asSlice(0, RECORD_BYTES));
        seals = SealTable.over(memory.asSlice(record.sealsAt(), record.sealBytes()));
        long layoutBytes = LAYOUTS_BYTES / record.slices().size() & -Long.BYTES;
        for (int i = 0; i < record.slices().size(); i++) {
            MemorySegment messages =
                    memory.asSlice(RECORD_BYTES + (long) i * KeptTable.MESSAGES_BYTES, KeptTable.MESSAGES_BYTES);
            // The kernel takes a message from its queue before it writes it there. The message is lost if the page is
            // swapped out while this process is being killed.
            SystemCall locked = lock.lock(messages.address(), messages.byteSize());
            if (!locked.succeeded()) {
                unlocked = Optional.of("the messages of its userfaultfd may be swapped out: mlock of %d bytes: %s"
                        .formatted(messages.byteSize(), locked.error()));
            }
            if (record.attached() != AttachMode.MEMBER) {
                tables.add(new KeptTable(
                        memory.asSlice(
                                record.tableAt(i),
                                Pager.tableBytes(record.slices().get(i).pages())),
                        messages,
                        memory.asSlice(LAYOUTS_AT + i * layoutBytes, layoutBytes)));
            }
        }
        member = record.attached() == AttachMode.MEMBER
                ? Optional.of(new KeptMember(
                        memory.asSlice(record.tableAt(0), record.pages()),
                        memory.asSlice(RECORD_BYTES, KeptMember.MESSAGES_BYTES)))
                : Optional.empty();
    }

    /**
     * Makes the file of a guest. It is kept once {@link #hold(VmmMemory)} is called.
     *
     * @param process descriptor of the VMM's process; this one's to close
     * @throws KeptGuestException if there is no memory for it, or it cannot be locked; {@code process} is closed then
     */
    static KeptGuest create(KeptMemory keeper, GuestRecord record, int process, Lock lock) throws KeptGuestException {
        SystemCall made = SharedMemory.create("farpage-guest-" + record.space(), 0);
        if (!made.succeeded()) {
            FileIo.close(Errno.ofThread(), process);
            throw new KeptGuestException("memfd_create: " + made.error());
        }
        int file = (int) made.value();
        boolean done = false;
        try {
            SystemCall sized = SharedMemory.setLength(file, record.fileBytes());
            if (!sized.succeeded()) {
                throw new KeptGuestException("ftruncate of a memfd: " + sized.error());
            }
            KeptGuest kept = new KeptGuest(keeper, file, process, map(file, record.fileBytes()), record, lock);
            if (kept.unlocked.isPresent()) {
                throw new KeptGuestException(kept.unlocked.get());
            }
            kept.write();
            done = true;
            return kept;
        } finally {
            if (!done) {
                FileIo.close(Errno.ofThread(), file);
                FileIo.close(Errno.ofThread(), process);
            }
        }
    }

    /**
     * Opens the file that an earlier process has left. A guest whose messages cannot be locked is served, and given up
     * by {@link #check}.
     *
     * @param parts all descriptors that the keeper holds of the guest, by part; they stay the caller's
     * @throws KeptGuestException if it is not a guest's, or is damaged
     */
    static KeptGuest open(KeptMemory keeper, String node, long space, NavigableMap<Integer, Integer> parts, Lock lock)
            throws KeptGuestException {
        Integer file = parts.get(FILE);
        Integer process = parts.get(PROCESS);
        Integer backing = parts.get(MEMORY);
        if (file == null || process == null || backing == null) {
            throw new KeptGuestException("the agent was killed before the keeper had all of its descriptors");
        }
        long length = MemoryFile.lengthOf(file);
        if (!SharedMemory.hasFixedLength(file) || length < GuestRecord.TABLES_AT) {
            throw new KeptGuestException(
                    "its file is not a sealed memfd of %d bytes or more".formatted(GuestRecord.TABLES_AT));
        }
        MemorySegment memory = map(file, length);
        GuestRecord record = read(memory);
        if (record.space() != space || !record.node().equals(node)) {
            throw new KeptGuestException("its record is of space %d of node '%s', and this is space %d of node '%s'"
                    .formatted(record.space(), record.node(), space, node));
        }
        Optional<String> fault = record.fault();
        if (fault.isPresent()) {
            throw new KeptGuestException("its record is damaged: " + fault.get());
        }
        if (length != record.fileBytes()) {
            throw new KeptGuestException(
                    "its file has %d bytes, and its page tables need %d".formatted(length, record.fileBytes()));
        }
        if (MemoryFile.lengthOf(backing) != record.memoryBytes()) {
            throw new KeptGuestException("its memory file had %d bytes and has %d"
                    .formatted(record.memoryBytes(), MemoryFile.lengthOf(backing)));
        }
        if (parts.tailMap(USERFAULTFD).size() != record.slices().size()) {
            throw new KeptGuestException("the keeper has %d of its %d userfaultfds"
                    .formatted(
                            parts.tailMap(USERFAULTFD).size(), record.slices().size()));
        }
        KeptGuest kept = new KeptGuest(keeper, file, process, memory, record, lock);
        for (int i = 0; i < kept.tables.size(); i++) {
            Optional<String> obstacle =
                    kept.tables.get(i).obstacle(record.slices().get(i).pages(), record.pageBytes(), record.written());
            if (obstacle.isPresent()) {
                throw new KeptGuestException(obstacle.get());
            }
        }
        return kept;
    }

    private static GuestRecord read(MemorySegment memory) throws KeptGuestException {
        String text = new PoolRecord(memory.asSlice(0, RECORD_BYTES))
                .read()
                .orElseThrow(
                        () -> new KeptGuestException("its record is damaged: neither slot has the right checksum"));
        try {
            return Json.LENIENT.readValue(text, GuestRecord.class);
        } catch (JacksonException e) {
            throw new KeptGuestException("its record is damaged: " + e.getOriginalMessage());
        }
    }

    @SuppressWarnings(
            "restricted") // SAFETY: the range has just been mapped, and is unmapped when the segment is unreachable.
    private static MemorySegment map(int file, long bytes) throws KeptGuestException {
        SystemCall mapped = SharedMemory.map(file, bytes);
        if (!mapped.succeeded()) {
            throw new KeptGuestException("mmap of %d bytes: %s".formatted(bytes, mapped.error()));
        }
        long address = mapped.value();
        return MemorySegment.ofAddress(address)
                .reinterpret(bytes, Arena.ofAuto(), all -> Memory.munmap(address, bytes));
    }

    private KeptName name(int part) {
        return new KeptName(record.space(), part);
    }

    /**
     * Passes the descriptors to the keeper. What a successor needs at the beginning must be in the file.
     *
     * @param vmm that handed the memory over
     */
    void hold(VmmMemory vmm) {
        NavigableMap<KeptName, Integer> parts = new TreeMap<>();
        parts.put(name(FILE), file);
        parts.put(name(MEMORY), vmm.file());
        parts.put(name(PROCESS), process);
        for (int i = 0; i < vmm.uffds().size(); i++) {
            parts.put(name(USERFAULTFD + i), vmm.uffds().get(i).fd());
        }
        if (!keeper.hold(parts)) {
            log.warn(
                    "space {}: this guest does not survive the agent's end until the keeper has its descriptors",
                    record.name());
        }
    }

    synchronized GuestRecord record() {
        return record;
    }

    /** The descriptor of the file. */
    int file() {
        return file;
    }

    /** The table of a slice. */
    KeptTable table(int slice) {
        return tables.get(slice);
    }

    /** The pages of a member of a coherent space. */
    Optional<KeptMember> member() {
        return member;
    }

    /** Where tags, versions and salts of an encrypted space are kept. */
    KeptSeal seal() {
        return new KeptSeal() {
            @Override
            public SealTable table() {
                return seals;
            }

            @Override
            public Optional<String> salts(SortedMap<Integer, byte[]> salts) {
                return store(salts);
            }
        };
    }

    /** This process serves the guest from now on. */
    synchronized void succeed(Incarnation incarnation) {
        record = record.of(incarnation);
        write();
    }

    /** The limit of resident pages has changed. */
    synchronized void limit(int localPages) {
        if (!released) {
            record = record.limitedTo(localPages);
            write();
        }
    }

    /** The guest was parked, or no longer is. */
    synchronized void parked(Optional<Parked> now) {
        if (!released) {
            record = record.parkedAs(now);
            write();
        }
    }

    /** The extents of its space have changed. */
    synchronized void knows(SpaceExtents extents) {
        if (!released) {
            record = record.at(Optional.of(extents));
            write();
        }
    }

    private synchronized Optional<String> store(SortedMap<Integer, byte[]> salts) {
        GuestRecord salted = record.salted(salts);
        Optional<String> failure = write(salted);
        if (failure.isEmpty()) {
            record = salted;
        }
        return failure;
    }

    /** Without the extents, if there is no room for them. */
    private Optional<String> write(GuestRecord now) {
        Optional<String> failure = text.write(Json.STRICT.writeValueAsString(now));
        return failure.isPresent() && now.extents().isPresent() ? write(now.at(Optional.empty())) : failure;
    }

    private void write() {
        write(record).ifPresent(why -> log.warn("space {}: its record is not kept: {}", record.name(), why));
    }

    /** Whether the keeper was requested to release it. */
    synchronized boolean isReleased() {
        return released;
    }

    /** Gives the guest up if its VMM has done what no successor could follow, or a successor might lack a message. */
    void check() {
        Optional<String> departure = unlocked.or(() ->
                tables.stream().flatMap(table -> table.departure().stream()).findFirst());
        if (departure.isPresent() && release()) {
            log.warn(
                    "space {}: this guest no longer survives the agent's end, because {}",
                    record().name(),
                    departure.get());
        }
    }

    /**
     * Makes the keeper release the guest: a successor knows nothing of it. Call it before its descriptors are closed.
     *
     * @return whether it was kept until now
     */
    synchronized boolean release() {
        if (released) {
            return false;
        }
        released = true;
        keeper.release(record.space());
        FileIo.close(Errno.ofThread(), file);
        FileIo.close(Errno.ofThread(), process);
        return true;
    }
}
