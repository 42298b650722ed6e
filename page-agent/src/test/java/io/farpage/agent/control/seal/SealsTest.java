package io.farpage.agent.control.seal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.agent.data.seal.PageSeal;
import io.farpage.agent.data.seal.SealTable;
import io.farpage.agent.data.seal.SealedSpace;
import io.farpage.coordinator.model.Encryption;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Space;
import io.farpage.linux.crypto.LibCrypto;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SealsTest {
    private static final int PAGE = 4096;
    private static final long PAGES = 10_000;
    private static final Seals.Trust NONE = new Seals.Trust(false, false);
    private static final Seals.Trust FORCE = new Seals.Trust(true, false);
    private static final Seals.Trust RESET = new Seals.Trust(false, true);

    @TempDir
    private Path directory = Path.of("");

    private final Arena arena = Arena.ofAuto();
    private final Map<Integer, byte[]> homes = new HashMap<>();
    private Optional<String> mark = Optional.empty();
    private String keyId = "";

    @BeforeEach
    void makeAKey() throws Exception {
        LibCrypto.Loading library = LibCrypto.load(Optional.empty());
        assumeTrue(library instanceof LibCrypto.Loading.Loaded, library::toString);
        writeKey("default.key", "00112233445566778899aabbccddeeff".repeat(2) + "\n");
        keyId = seals().keyId(Optional.empty());
    }

    private void writeKey(String name, String contents) throws IOException {
        Path keys = Files.createDirectories(directory.resolve("keys"));
        Path file = Files.writeString(keys.resolve(name), contents);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
    }

    private Seals.Options options() {
        return new Seals.Options(
                directory.resolve("seal"),
                Optional.of(directory.resolve("keys")),
                List.of(),
                Duration.ofSeconds(10),
                Optional.empty(),
                false);
    }

    private Seals seals() {
        return new Seals(options());
    }

    private static Space plain() {
        return new Space(7, "vm", PAGES * PAGE, PAGE, ExtentState.OK, Instant.EPOCH, false);
    }

    private Space space() {
        return plain().withEncryption(
                        Optional.of(new Encryption(keyId, mark.map(text -> new Encryption.Sealed(text, "a")))));
    }

    private Path file() {
        return directory.resolve("seal/space-7.seal");
    }

    private static byte[] page(int number, int version) {
        byte[] contents = new byte[PAGE];
        contents[0] = (byte) number;
        contents[1] = (byte) version;
        return contents;
    }

    /** Writes pages as a guest does, and detaches. */
    private void write(Seals seals, Seals.Trust trust, int version, int... pages) throws SealException {
        try (SpaceSeal seal = seals.open(space(), trust).orElseThrow()) {
            SealedSpace sealed = seal.begin(Optional.empty());
            MemorySegment memory = arena.allocate(PAGE, 8);
            try (PageSeal part = sealed.part(0, (int) PAGES)) {
                for (int page : pages) {
                    MemorySegment.copy(page(page, version), 0, memory, ValueLayout.JAVA_BYTE, 0, PAGE);
                    part.seal(page, memory.address(), memory.address());
                    homes.put(page, memory.toArray(ValueLayout.JAVA_BYTE));
                }
            }
            mark = seal.end();
        }
    }

    /** Reads a page as the next guest does; empty if it does not open. */
    private Optional<byte[]> read(int page, Seals.Trust trust) throws SealException {
        try (SpaceSeal seal = seals().open(space(), trust).orElseThrow();
                PageSeal part = seal.begin(Optional.empty()).part(0, (int) PAGES)) {
            MemorySegment memory = arena.allocate(PAGE, 8);
            MemorySegment.copy(homes.getOrDefault(page, new byte[PAGE]), 0, memory, ValueLayout.JAVA_BYTE, 0, PAGE);
            boolean opens = part.open(page, memory.address(), memory.address());
            mark = seal.end();
            return opens ? Optional.of(memory.toArray(ValueLayout.JAVA_BYTE)) : Optional.empty();
        }
    }

    /** What is left of a guest whose agent is killed. */
    private static final class Left implements KeptSeal {
        private final SealTable table =
                SealTable.over(Arena.ofAuto().allocate(PAGES * SealTable.ENTRY_BYTES, Long.BYTES));
        private SortedMap<Integer, byte[]> salts = new TreeMap<>();
        private boolean isFull;

        @Override
        public SealTable table() {
            return table;
        }

        @Override
        public Optional<String> salts(SortedMap<Integer, byte[]> latest) {
            if (isFull) {
                return Optional.of("full");
            }
            salts = new TreeMap<>(latest);
            return Optional.empty();
        }
    }

    /** Seals a page as the guest of an agent that is killed afterwards. */
    private void leave(SpaceSeal seal, Left left, int page, int version) throws SealException {
        MemorySegment memory = arena.allocate(PAGE, 8);
        MemorySegment.copy(page(page, version), 0, memory, ValueLayout.JAVA_BYTE, 0, PAGE);
        try (PageSeal part = seal.begin(Optional.of(left)).part(0, (int) PAGES)) {
            part.seal(page, memory.address(), memory.address());
        }
        homes.put(page, memory.toArray(ValueLayout.JAVA_BYTE));
    }

    @Test
    void shouldGoOnWithWhatAKilledAgentHasLeft() throws Exception {
        write(seals(), NONE, 1, 3, 4);
        Left left = new Left();
        leave(seals().open(space(), NONE).orElseThrow(), left, 4, 2);
        leave(seals().adopt(7, PAGE, keyId, left.salts, left.table), left, 5, 3);
        assertEquals(Set.of(1, 2, 3), left.salts.keySet());
        try (SpaceSeal seal = seals().adopt(7, PAGE, keyId, left.salts, left.table)) {
            seal.begin(Optional.of(left));
            mark = seal.end();
        }
        assertArrayEquals(page(3, 1), read(3, NONE).orElseThrow());
        assertArrayEquals(page(4, 2), read(4, NONE).orElseThrow());
        assertArrayEquals(page(5, 3), read(5, NONE).orElseThrow());
    }

    /** The same nonce under the same key would give the pages away. */
    @Test
    void shouldSealUnderAnotherKeyThanTheAgentThatWasKilled() throws Exception {
        Left left = new Left();
        leave(seals().open(space(), NONE).orElseThrow(), left, 4, 1);
        byte[] before = Objects.requireNonNull(homes.get(4));
        leave(seals().adopt(7, PAGE, keyId, left.salts, left.table), left, 4, 1);
        assertFalse(Arrays.equals(before, homes.get(4)), "the same page, sealed as the first message of both");
        assertEquals(2, SealTable.generation(left.table.version(4)));
    }

    @Test
    void shouldSealNothingWhoseSaltIsNotKept() throws Exception {
        Left left = new Left();
        left.isFull = true;
        try (SpaceSeal seal = seals().open(space(), NONE).orElseThrow()) {
            assertThrows(SealException.class, () -> seal.begin(Optional.of(left)));
        }
    }

    private String refusal(Space space, Seals.Trust trust) {
        return String.valueOf(assertThrows(SealException.class, () -> seals().open(space, trust))
                .getMessage());
    }

    @Test
    void shouldOpenInTheNextAttachmentWhatTheLastOneHasSealed() throws Exception {
        write(seals(), NONE, 1, 3, 4, 9_999);
        write(seals(), NONE, 2, 4, 5);
        assertArrayEquals(page(3, 1), read(3, NONE).orElseThrow());
        assertArrayEquals(page(4, 2), read(4, NONE).orElseThrow());
        assertArrayEquals(page(9_999, 1), read(9_999, NONE).orElseThrow());
        assertEquals(Optional.empty(), read(6, NONE), "it was never written");
        assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file())));
        assertEquals(
                "rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(directory.resolve("seal"))));
    }

    @Test
    void shouldKeepTheFileWhenNoGuestCame() throws Exception {
        write(seals(), NONE, 1, 3);
        byte[] before = Files.readAllBytes(file());
        try (SpaceSeal seal = seals().open(space(), NONE).orElseThrow()) {
            assertTrue(seal.hasPages());
            assertEquals(Optional.empty(), seal.end());
        }
        assertArrayEquals(before, Files.readAllBytes(file()));
    }

    @Test
    void shouldSealEachAttachmentUnderAnotherGeneration() throws Exception {
        write(seals(), NONE, 1, 1);
        write(seals(), NONE, 1, 2);
        try (SpaceSeal seal = seals().open(space(), NONE).orElseThrow()) {
            SealTable table = seal.begin(Optional.empty()).table();
            assertNotEquals(SealTable.generation(table.version(1)), SealTable.generation(table.version(2)));
            assertEquals(0, table.version(3));
        }
    }

    @Test
    void shouldUseAGenerationAnewOnceNoPageIsSealedUnderIt() throws Exception {
        for (int i = 0; i < 6; i++) {
            write(seals(), NONE, i, 1);
        }
        try (SpaceSeal seal = seals().open(space(), NONE).orElseThrow()) {
            assertTrue(SealTable.generation(seal.begin(Optional.empty()).table().version(1)) <= 2);
        }
        assertArrayEquals(page(1, 5), homesWith(1));
    }

    private byte[] homesWith(int page) throws Exception {
        Files.move(directory.resolve("seal/space-7.seal.attached"), file());
        return read(page, NONE).orElseThrow();
    }

    @Test
    void shouldRefuseAnOldFileWithOldPages() throws Exception {
        write(seals(), NONE, 1, 3);
        byte[] oldFile = Files.readAllBytes(file());
        write(seals(), NONE, 2, 3);
        Files.write(file(), oldFile);
        String refused = refusal(space(), NONE);
        assertTrue(
                refused.contains("has the tags of another attachment") && refused.contains(mark.orElseThrow()),
                refused);
        assertEquals(Optional.empty(), read(3, FORCE), "taken by force, the old tags do not open the new page");
    }

    @Test
    void shouldSayWhereTheFileIsThatIsMissing() throws Exception {
        write(seals(), NONE, 1, 3);
        Files.delete(file());
        String refused = refusal(space(), NONE);
        assertTrue(refused.contains(file() + " is missing") && refused.contains("node 'a' wrote it"), refused);
        assertTrue(refused.contains("--reset"), refused);
        try (SpaceSeal seal = seals().open(space(), RESET).orElseThrow()) {
            assertFalse(seal.hasPages());
        }
    }

    @Test
    void shouldRefuseWhatWasAttachedWhenItsAgentEnded() throws Exception {
        write(seals(), NONE, 1, 3, 4);
        try (SpaceSeal killed = seals().open(space(), NONE).orElseThrow()) {
            killed.begin(Optional.empty());
        }
        String refused = refusal(space(), NONE);
        assertTrue(refused.contains("was attached when this agent ended"), refused);
        assertArrayEquals(page(4, 1), read(4, FORCE).orElseThrow(), "it was not written since");
    }

    @Test
    void shouldRefuseAFileThatTheCoordinatorKnowsNothingOf() throws Exception {
        write(seals(), NONE, 1, 3);
        mark = Optional.empty();
        String refused = refusal(space(), NONE);
        assertTrue(refused.contains("the coordinator knows of no guest that used it"), refused);
        String downgraded = refusal(plain(), NONE);
        assertTrue(downgraded.contains("not encrypted, but " + file()), downgraded);
    }

    @ParameterizedTest
    @ValueSource(doubles = {0.02, 0.3, 0.6, 0.999})
    void shouldRefuseAFileThatWasAltered(double where) throws Exception {
        write(seals(), NONE, 1, 3, 4, 5);
        byte[] bytes = Files.readAllBytes(file());
        bytes[(int) (where * bytes.length)] ^= 4;
        Files.write(file(), bytes);
        refusal(space(), FORCE);
    }

    @Test
    void shouldRefuseAFileThatEndsEarly() throws Exception {
        write(seals(), NONE, 1, 3);
        byte[] bytes = Files.readAllBytes(file());
        Files.write(file(), java.util.Arrays.copyOf(bytes, bytes.length - 5));
        assertTrue(refusal(space(), NONE).contains("is damaged: it ends early"));
    }

    @Test
    void shouldRefuseAKeyThatOthersMayRead() throws Exception {
        Path key = directory.resolve("keys/default.key");
        Files.setPosixFilePermissions(key, PosixFilePermissions.fromString("rw-r--r--"));
        assertTrue(refusal(space(), NONE).contains("mode rw-r--r--; a key is its owner's alone: chmod 0600 " + key));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "0011", "zz112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"})
    void shouldRefuseWhatIsNoKey(String written) throws Exception {
        writeKey("default.key", written);
        String refused = refusal(space(), NONE);
        assertTrue(refused.contains("a key is 32 bytes or 64 hex digits: openssl rand -hex 32"), refused);
        assertFalse(refused.contains("ddeeff"), "a message has nothing of a key");
    }

    @Test
    void shouldFindAKeyAmongSeveralByItsId() throws Exception {
        writeKey("other.key", "77".repeat(32));
        assertEquals(keyId, seals().keyId(Optional.empty()), "default.key is for new spaces");
        write(seals(), NONE, 1, 3);
        Files.move(directory.resolve("keys/default.key"), directory.resolve("keys/old.key"));
        assertArrayEquals(page(3, 1), read(3, NONE).orElseThrow());
        String unclear = String.valueOf(assertThrows(SealException.class, () -> seals().keyId(Optional.empty()))
                .getMessage());
        assertTrue(unclear.contains("has 2 keys and no default.key"), unclear);
        Files.delete(directory.resolve("keys/old.key"));
        assertTrue(refusal(space(), NONE).contains("no file *.key of " + directory.resolve("keys")));
    }

    @Test
    void shouldRefuseEncryptedSpacesWithoutLibcrypto() {
        Seals without = new Seals(new Seals.Options(
                options().directory(),
                options().keys(),
                List.of(),
                Duration.ofSeconds(1),
                Optional.of(Path.of("/nonexistent/libcrypto.so.3")),
                false));
        String refused = String.valueOf(assertThrows(SealException.class, () -> without.open(space(), NONE))
                .getMessage());
        assertEquals(
                "pages cannot be sealed: cannot load /nonexistent/libcrypto.so.3; install OpenSSL 3: apt-get install"
                        + " libssl3",
                refused);
        assertThrows(SealException.class, () -> without.keyId(Optional.empty()));
    }

    @Test
    void shouldRefusePlainSpacesWhereEncryptionIsRequired() throws Exception {
        assertEquals(Optional.empty(), seals().open(plain(), NONE));
        Seals strict = new Seals(new Seals.Options(
                options().directory(), options().keys(), List.of(), Duration.ofSeconds(1), Optional.empty(), true));
        assertTrue(String.valueOf(assertThrows(SealException.class, () -> strict.open(plain(), NONE))
                        .getMessage())
                .contains("seal.require"));
        assertTrue(refusal(plain(), RESET).contains("is not encrypted"));
    }

    @Test
    void shouldSayThatThereAreNoKeys() {
        Seals without = new Seals(Seals.Options.none(directory.resolve("seal")));
        assertTrue(String.valueOf(assertThrows(SealException.class, () -> without.open(space(), NONE))
                        .getMessage())
                .contains("set seal.keys to a directory"));
        assertThrows(
                IllegalArgumentException.class,
                () -> new Seals.Options(
                        directory,
                        Optional.of(directory),
                        List.of("kms"),
                        Duration.ofSeconds(1),
                        Optional.empty(),
                        false));
    }
}
