package io.farpage.agent.control.guest;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.keeper.Keeper;
import io.farpage.agent.control.keeper.KeptMemory;
import io.farpage.agent.control.pins.PinPolicy;
import io.farpage.agent.control.pins.PinWatches;
import io.farpage.agent.data.pager.page.GuestRegion;
import io.farpage.agent.data.pager.page.KeptTable;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.Memory;
import io.farpage.linux.PosixException;
import io.farpage.linux.ProcessFd;
import io.farpage.linux.SharedMemory;
import io.farpage.linux.SystemCall;
import io.farpage.linux.uffd.MemoryFile;
import io.farpage.linux.uffd.UffdMessages;
import io.farpage.linux.uffd.Userfaultfd;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.opentest4j.TestAbortedException;

/** What a killed agent has left of a guest is taken as a whole, or refused with the reason. */
class KeptGuestTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 64;
    private static final long SPACE = 9;
    private static final long MESSAGES_AT = 512 << 10;

    @TempDir
    private Path directory = Path.of("");

    private Keeper keeper;
    private Thread thread;
    private KeptMemory agent;
    private NavigableMap<Integer, Integer> parts = new TreeMap<>();
    private MemorySegment file;

    @BeforeEach
    void leaveAGuest() throws Exception {
        keeper = Keeper.listen(directory.resolve("keeper"));
        thread = Thread.ofPlatform().start(keeper::run);
        agent = KeptMemory.claim(keeper.path());
        Userfaultfd uffd = userfaultfd();
        int memory = MemoryFile.create("ram", (long) PAGES * PAGE).fd();
        int self = (int) ProcessHandle.current().pid();
        Slice slice = new Slice(0, 0, PAGES, List.of(new GuestRegion(1L << 40, (long) PAGES * PAGE, 0)));
        VmmMemory vmm = new VmmMemory(
                self,
                List.of(slice),
                List.of(uffd),
                Backing.start("vm", memory, self, new PinWatches(new PinPolicy(PinPolicy.Mode.HOLD, Duration.ZERO))));
        GuestRecord record = record(self, Optional.empty(), vmm.slices());
        KeptGuest.create(agent, record, (int) ProcessFd.open(self).value(), Memory::mlock)
                .hold(vmm);
        agent.close();
        vmm.close();
        agent = claim();
        NavigableMap<Long, NavigableMap<Integer, Integer>> left =
                new GuestKeeping("a", new Incarnation(4), Optional.of(agent)).takeLeft();
        assertEquals(List.of(SPACE), List.copyOf(left.keySet()));
        parts = left.firstEntry().getValue();
        file = map(parts.firstEntry().getValue());
    }

    private static GuestRecord record(int pid, Optional<GuestRecord.Sealed> sealed, List<Slice> slices) {
        return record(pid, sealed, Optional.empty(), slices);
    }

    private static GuestRecord record(
            int pid, Optional<GuestRecord.Sealed> sealed, Optional<AttachMode> mode, List<Slice> slices) {
        return new GuestRecord(
                "a",
                new Incarnation(3),
                SPACE,
                "vm",
                "/run/vm",
                pid,
                PAGE,
                PAGES,
                true,
                PAGES,
                1,
                (long) PAGES * PAGE,
                slices,
                sealed,
                Optional.empty(),
                Optional.empty(),
                mode);
    }

    private static Userfaultfd userfaultfd() {
        try {
            return Userfaultfd.open(0);
        } catch (PosixException e) {
            throw new TestAbortedException(e.getMessage(), e);
        }
    }

    /** The keeper learns of the end of a connection in its own time. */
    private KeptMemory claim() throws InterruptedException {
        for (int i = 0; ; i++) {
            try {
                return KeptMemory.claim(keeper.path());
            } catch (RuntimeException e) {
                if (i == 500) {
                    throw e;
                }
                Thread.sleep(10);
            }
        }
    }

    @SuppressWarnings("restricted") // SAFETY: the range has just been mapped.
    private static MemorySegment map(int fd) {
        long bytes = MemoryFile.lengthOf(fd);
        return MemorySegment.ofAddress(SharedMemory.map(fd, bytes).value()).reinterpret(bytes);
    }

    @AfterEach
    void end() throws InterruptedException {
        parts.values().forEach(fd -> FileIo.close(Errno.create(), fd));
        agent.close();
        keeper.close();
        Deadlines.join("the end of the thread", Deadlines.SHORT, thread);
    }

    private KeptGuest open() throws KeptGuestException {
        return KeptGuest.open(agent, "a", SPACE, parts, Memory::mlock);
    }

    private String refusal() {
        return String.valueOf(assertThrows(KeptGuestException.class, this::open).getMessage());
    }

    private void replace(int part, int fd) {
        FileIo.close(Errno.create(), parts.put(part, fd));
    }

    private void remove(int part) {
        FileIo.close(Errno.create(), Objects.requireNonNull(parts.remove(part)));
    }

    @Test
    void shouldOpenWhatIsWhole() throws Exception {
        KeptGuest guest = open();
        assertEquals("vm", guest.record().name());
        assertEquals(new Incarnation(3), guest.record().incarnation());
        guest.succeed(new Incarnation(4));
        guest.limit(PAGES + 1);
        assertEquals(new Incarnation(4), open().record().incarnation());
        assertEquals(PAGES + 1, open().record().localPages());
    }

    /** The file of a guest of a coherent space. */
    private KeptGuest member(List<Slice> slices) throws KeptGuestException {
        GuestRecord plain = open().record();
        return KeptGuest.create(
                agent,
                record(plain.pid(), Optional.empty(), Optional.of(AttachMode.MEMBER), slices),
                (int) ProcessFd.open(plain.pid()).value(),
                Memory::mlock);
    }

    @Test
    void shouldKeepThePagesOfAMember() throws Exception {
        KeptGuest guest = member(open().record().slices());
        int memory = Objects.requireNonNull(parts.get(KeptGuest.MEMORY));
        try (MemoryFile pages = MemoryFile.adopt(memory).from(0)) {
            assertEquals(Optional.empty(), guest.member().orElseThrow().adopt(pages));
        }
        replace(KeptGuest.FILE, guest.file());
        assertEquals(AttachMode.MEMBER, open().record().attached());
        assertTrue(open().member().isPresent());
    }

    @Test
    void shouldKeepAPageTableOfAGuestThatIsNoMember() throws Exception {
        assertEquals(AttachMode.EXCLUSIVE, open().record().attached());
        assertTrue(open().member().isEmpty());
    }

    @Test
    void shouldRefuseAMemberWithSeveralSlices() throws Exception {
        Slice whole = open().record().slices().getFirst();
        Slice half = new Slice(0, 0, PAGES / 2, List.of());
        Slice other = new Slice((long) PAGES / 2 * PAGE, PAGES / 2, PAGES / 2, List.of());
        GuestRecord plain = record(1, Optional.empty(), Optional.of(AttachMode.MEMBER), List.of(half, other));
        assertEquals(
                "a member with 2 slices of pages of 4096 bytes", plain.fault().orElseThrow());
        assertEquals(
                Optional.empty(),
                record(1, Optional.empty(), Optional.of(AttachMode.MEMBER), List.of(whole))
                        .fault());
    }

    private static SpaceExtents space(int extents) {
        List<Extent> all = IntStream.range(0, extents)
                .mapToObj(i -> new Extent(i, 1, List.of(new ExtentHome("b", new Incarnation(7), 0)), ExtentState.OK))
                .toList();
        Space space = new Space(SPACE, "vm", (long) extents * PAGE, PAGE, ExtentState.OK, Instant.EPOCH, false);
        return new SpaceExtents(space, 12, all);
    }

    @Test
    void shouldKeepTheExtentsUnlessTheRecordHasNoRoom() throws Exception {
        KeptGuest guest = open();
        guest.knows(space(2));
        assertEquals(Optional.of(space(2)), open().record().extents());
        guest.knows(space(20_000));
        guest.limit(PAGES + 1);
        assertEquals(Optional.empty(), open().record().extents(), "not those that are out of date");
        assertEquals(PAGES + 1, open().record().localPages());
    }

    /** The file of the same guest, whose space is encrypted. */
    private KeptGuest encrypted(GuestRecord.Sealed sealed) throws KeptGuestException {
        GuestRecord plain = open().record();
        return KeptGuest.create(
                agent,
                record(plain.pid(), Optional.of(sealed), plain.slices()),
                (int) ProcessFd.open(plain.pid()).value(),
                Memory::mlock);
    }

    @Test
    void shouldKeepSaltsTagsAndVersionsOfAnEncryptedSpace() throws Exception {
        KeptGuest guest = encrypted(new GuestRecord.Sealed("k1", new TreeMap<>()));
        byte[] salt = new byte[16];
        salt[3] = 7;
        guest.seal().salts(new TreeMap<>(Map.of(2, salt)));
        MemorySegment entry = guest.seal().table().entries(PAGES - 1, 1);
        entry.set(ValueLayout.JAVA_LONG, 16, (2L << 48) | 5);
        replace(KeptGuest.FILE, guest.file());
        KeptGuest left = open();
        assertArrayEquals(salt, left.record().sealed().orElseThrow().saltBytes().get(2));
        assertEquals("k1", left.record().sealed().orElseThrow().keyId());
        assertEquals((2L << 48) | 5, left.seal().table().version(PAGES - 1));
        assertEquals(0, left.seal().table().version(0));
    }

    @Test
    void shouldRefuseAnEncryptedSpaceWithoutTheSaltsOfItsKeys() throws Exception {
        KeptGuest without = encrypted(new GuestRecord.Sealed("k1", new TreeMap<>()));
        KeptGuest shortened = encrypted(new GuestRecord.Sealed("k1", new TreeMap<>(Map.of(1, "00ff"))));
        replace(KeptGuest.FILE, without.file());
        assertEquals("its record is damaged: the salts of its keys", refusal());
        replace(KeptGuest.FILE, shortened.file());
        assertEquals("its record is damaged: the salts of its keys", refusal());
    }

    @Test
    void shouldTakeTheRecordBeforeIfTheLastWriteWasCutOff() throws Exception {
        open().succeed(new Incarnation(4));
        // The second write went to the first slot.
        file.set(ValueLayout.JAVA_BYTE, 40, (byte) '#');
        assertEquals(new Incarnation(3), open().record().incarnation());
    }

    @Test
    void shouldKeepThatTheGuestIsParked() throws Exception {
        Parked parked = new Parked(PAGES, 4000, 1_750_000_000);
        open().parked(Optional.of(parked));
        assertEquals(Optional.of(parked), open().record().parked());
        open().parked(Optional.empty());
        assertEquals(Optional.empty(), open().record().parked());
    }

    @Test
    void shouldRefuseAParkedGuestThatKeepsTooFewPages() throws Exception {
        open().parked(Optional.of(new Parked(PAGES - 1, 4000, 1_750_000_000)));
        assertEquals("its record is damaged: it is parked with 63 resident pages", refusal());
    }

    @Test
    void shouldRefuseADamagedRecord() {
        file.asSlice(0, MESSAGES_AT).fill((byte) 'x');
        assertEquals("its record is damaged: neither slot has the right checksum", refusal());
    }

    @Test
    void shouldRefuseAnotherSpaceOrNode() {
        KeptGuestException space = assertThrows(
                KeptGuestException.class, () -> KeptGuest.open(agent, "a", SPACE + 1, parts, Memory::mlock));
        assertTrue(String.valueOf(space.getMessage()).startsWith("its record is of space 9"), space::toString);
        KeptGuestException node =
                assertThrows(KeptGuestException.class, () -> KeptGuest.open(agent, "b", SPACE, parts, Memory::mlock));
        assertTrue(String.valueOf(node.getMessage()).contains("of node 'a', and this is"), node::toString);
    }

    @Test
    void shouldRefuseADamagedTable() {
        file.set(ValueLayout.JAVA_BYTE, GuestRecord.TABLES_AT + 5, (byte) (0x7 ^ 0x21));
        assertEquals("the entry of page 5 is damaged", refusal());
    }

    @Test
    void shouldRefuseATableThatIsTooShort() {
        int shorter = (int) SharedMemory.create("short", 0).value();
        assertTrue(SharedMemory.setLength(shorter, GuestRecord.TABLES_AT).succeeded());
        map(shorter).copyFrom(file.asSlice(0, GuestRecord.TABLES_AT));
        replace(KeptGuest.FILE, shorter);
        assertEquals("its file has 1048576 bytes, and its page tables need 1052672", refusal());
    }

    @Test
    void shouldRefuseAFileWhoseLengthCanChange() {
        replace(KeptGuest.FILE, MemoryFile.create("plain", file.byteSize()).fd());
        assertTrue(refusal().startsWith("its file is not a sealed memfd"), refusal());
    }

    @Test
    void shouldRefuseAMemoryFileOfAnotherLength() {
        replace(KeptGuest.MEMORY, MemoryFile.create("ram", PAGE).fd());
        assertEquals("its memory file had 262144 bytes and has 4096", refusal());
    }

    @Test
    void shouldRefuseAGuestWhoseDescriptorsAreNotComplete() {
        remove(KeptGuest.USERFAULTFD);
        assertEquals("the keeper has 0 of its 1 userfaultfds", refusal());
        remove(KeptGuest.FILE);
        assertEquals("the agent was killed before the keeper had all of its descriptors", refusal());
    }

    @Test
    void shouldRefuseAGuestWhoseVmmWasForkingOrHasForked() {
        file.set(ValueLayout.JAVA_BYTE, MESSAGES_AT + UffdMessages.MESSAGE_BYTES, (byte) UffdMessages.EVENT_FORK);
        assertEquals("its VMM was forking", refusal());
        // Agents that kept no layout have said so of forks, too.
        file.asSlice(MESSAGES_AT, KeptTable.MESSAGES_BYTES).fill((byte) 1);
        assertEquals("its VMM has changed its memory in a way that no other process can follow", refusal());
    }

    @Test
    void shouldNotKeepAGuestWhoseMessagesCannotBeLocked() throws Exception {
        GuestRecord record = open().record();
        int process = (int) ProcessFd.open(record.pid()).value();
        KeptGuestException refusal = assertThrows(
                KeptGuestException.class, () -> KeptGuest.create(agent, record, process, KeptGuestTest::lockNothing));
        assertEquals(
                "the messages of its userfaultfd may be swapped out: mlock of 4096 bytes: ENOMEM",
                refusal.getMessage());
    }

    @Test
    void shouldServeALeftGuestWhoseMessagesCannotBeLockedAndGiveItUp() throws Exception {
        KeptGuest guest = KeptGuest.open(agent, "a", SPACE, parts, KeptGuestTest::lockNothing);
        assertFalse(guest.isReleased());
        NavigableMap<Integer, Integer> rest = new TreeMap<>(parts.subMap(KeptGuest.MEMORY, KeptGuest.PROCESS));
        rest.putAll(parts.tailMap(KeptGuest.USERFAULTFD));
        guest.check();
        assertTrue(guest.isReleased());
        parts = rest;
    }

    /** Fails, since no memory is mapped at address 0. */
    private static SystemCall lockNothing(long address, long bytes) {
        return Memory.mlock(0, bytes);
    }

    @Test
    void shouldLeaveNothingOfAGuestThatIsReleased() throws IOException, KeptGuestException, InterruptedException {
        KeptGuest guest = open();
        NavigableMap<Integer, Integer> rest = new TreeMap<>(parts.subMap(KeptGuest.MEMORY, KeptGuest.PROCESS));
        rest.putAll(parts.tailMap(KeptGuest.USERFAULTFD));
        assertTrue(guest.release());
        assertTrue(!guest.release());
        parts = rest;
        agent.close();
        agent = claim();
        assertTrue(agent.takeLeft().isEmpty());
    }
}
