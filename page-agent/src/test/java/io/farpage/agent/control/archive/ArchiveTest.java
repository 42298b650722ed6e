package io.farpage.agent.control.archive;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is written to an archive is read from it, and nothing else is. */
@Tag("portable")
class ArchiveTest {
    private static final int PAGE = 4096;
    private static final int FRAME = ArchiveHeader.FRAME_BYTES;
    private static final int LARGE = 3 * FRAME + 2 * PAGE;

    /**
     * What an archive has.
     *
     * @param state empty: none
     */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    private record Content(byte[] state, byte[] memory) {}

    private static ArchiveHeader header(Content of) {
        return new ArchiveHeader(
                ArchiveHeader.FORMAT,
                "golden",
                of.memory.length,
                PAGE,
                of.state.length == 0 ? OptionalLong.empty() : OptionalLong.of(of.state.length));
    }

    private static byte[] write(Content content) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ArchiveWriter archive = new ArchiveWriter(out, header(content));
        if (content.state.length > 0) {
            archive.state(to -> to.write(content.state));
        }
        archive.memory(to -> {
            // In parts that end anywhere.
            for (int at = 0; at < content.memory.length; at += 5000) {
                to.write(content.memory, at, Math.min(5000, content.memory.length - at));
            }
        });
        return out.toByteArray();
    }

    private static Content read(byte[] archive) throws IOException {
        ArchiveReader reader = new ArchiveReader(new ByteArrayInputStream(archive));
        byte[] state = reader.header().stateBytes().isPresent() ? reader.state().readAllBytes() : new byte[0];
        return new Content(state, reader.memory().readAllBytes());
    }

    private static byte[] random(int length) {
        byte[] data = new byte[length];
        new SplittableRandom(length).nextBytes(data);
        return data;
    }

    private static Content small() {
        return new Content(random(777), random(2 * PAGE));
    }

    /** The second frame is zeros, and the last ends with zeros. */
    private static Content large() {
        byte[] memory = random(LARGE);
        Arrays.fill(memory, FRAME, 2 * FRAME, (byte) 0);
        Arrays.fill(memory, LARGE - PAGE, LARGE, (byte) 0);
        return new Content(new byte[0], memory);
    }

    private static List<String> entries(byte[] archive) throws IOException {
        List<String> names = new ArrayList<>();
        ZipInputStream zip = new ZipInputStream(new ByteArrayInputStream(archive));
        for (ZipEntry entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
            names.add(entry.getName());
        }
        return names;
    }

    private static String refusal(byte[] archive) {
        return String.valueOf(
                assertThrows(IOException.class, () -> read(archive)).getMessage());
    }

    @Test
    void shouldReadWhatWasWritten() throws Exception {
        for (Content content : List.of(small(), large(), new Content(random(1), new byte[PAGE]))) {
            Content found = read(write(content));
            assertArrayEquals(content.state, found.state);
            assertArrayEquals(content.memory, found.memory);
        }
    }

    @Test
    void shouldLeaveFramesOfZerosOut() throws Exception {
        assertEquals(
                List.of(
                        "snapshot.json",
                        "memory/0000000000000000",
                        "memory/0000000000400000",
                        "memory/0000000000600000",
                        "end.json"),
                entries(write(large())));
        assertEquals(
                List.of("snapshot.json", "end.json"), entries(write(new Content(new byte[0], new byte[2 * FRAME]))));
    }

    /** What follows the last entry tells the same in another order, and is not read. */
    @Test
    void shouldRefuseAnArchiveThatEndsEarly() throws Exception {
        byte[] archive = write(small());
        int end = endOfEntries(archive);
        for (int length = 0; length < end; length += length < end - 600 ? 37 : 1) {
            byte[] part = Arrays.copyOf(archive, length);
            assertTrue(!refusal(part).isEmpty(), "of " + length + " bytes");
        }
    }

    /** Where the directory begins that ends the archive. */
    private static int endOfEntries(byte[] archive) {
        String text = new String(archive, StandardCharsets.ISO_8859_1);
        return text.indexOf("PK\u0001\u0002");
    }

    /** A bit is another one: that is noticed, or it is of something that is not read, such as a time. */
    @Test
    void shouldNeverReadAnythingElseFromADamagedArchive() throws Exception {
        Content content = small();
        byte[] archive = write(content);
        int noticed = 0;
        for (int at = 0; at < archive.length; at++) {
            byte[] damaged = archive.clone();
            damaged[at] ^= (byte) (1 << at % 8);
            try {
                Content found = read(damaged);
                assertArrayEquals(content.state, found.state, "byte " + at);
                assertArrayEquals(content.memory, found.memory, "byte " + at);
            } catch (IOException e) {
                noticed++;
            }
        }
        assertTrue(noticed > content.state.length + content.memory.length, noticed + " of " + archive.length);
    }

    @Test
    void shouldNameTheFrameThatIsDamaged() throws Exception {
        byte[] archive = write(large());
        String text = new String(archive, StandardCharsets.ISO_8859_1);
        archive[text.indexOf("memory/0000000000400000") + FRAME / 2] ^= 1;
        String refusal = refusal(archive);
        assertTrue(refusal.startsWith("it is damaged in memory/0000000000400000: "), refusal);
    }

    /** Entries by name, as another program writes them. */
    private static byte[] zip(Map<String, byte[]> entries) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (ZipOutputStream zip = new ZipOutputStream(out)) {
            for (Map.Entry<String, byte[]> entry : entries.entrySet()) {
                zip.putNextEntry(new ZipEntry(entry.getKey()));
                zip.write(entry.getValue());
            }
        }
        return out.toByteArray();
    }

    private static byte[] json(String text) {
        return text.replace('\'', '"').getBytes(StandardCharsets.UTF_8);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '^',
            value = {
                "{'format':2,'name':'g','sizeBytes':4096,'pageSize':4096} | it has format 2, and this agent reads",
                "{'format':1,'name':'g','sizeBytes':4097,'pageSize':4096} | 4097 bytes in pages of 4096",
                "{'format':1,'name':'g','sizeBytes':0,'pageSize':4096} | 0 bytes in pages of 4096",
                "{'format':1,'name':'g','sizeBytes':4096,'pageSize':0} | in pages of 0",
                "{'format':1,'name':'g','sizeBytes':4096,'pageSize':4096,'stateBytes':0} | has 0 bytes, which",
                "{'format':1,'sizeBytes':4096,'pageSize':4096} | snapshot.json cannot be read",
                "[] | snapshot.json cannot be read"
            })
    void shouldRefuseAHeaderThatDoesNotFit(String header, String said) throws Exception {
        String refusal = refusal(zip(Map.of("snapshot.json", json(header))));
        assertTrue(refusal.contains(said), refusal);
    }

    private static Map<String, byte[]> begun() {
        Map<String, byte[]> entries = new LinkedHashMap<>();
        entries.put("snapshot.json", json("{'format':1,'name':'g','sizeBytes':8192,'pageSize':4096}"));
        return entries;
    }

    private static void refused(Map<String, byte[]> entries, String said) throws Exception {
        String refusal = refusal(zip(entries));
        assertTrue(refusal.contains(said), refusal);
    }

    @Test
    void shouldRefuseEntriesThatDoNotFit() throws Exception {
        refused(Map.of("memory.bin", random(PAGE)), "it does not begin with snapshot.json");
        Map<String, byte[]> entries = begun();
        refused(entries, "end.json is missing, the archive ends before it");
        entries.put("memory/0000000000000000", random(PAGE));
        refused(entries, "memory/0000000000000000 has 4096 bytes, not 8192");
        entries.put("memory/0000000000000000", random(2 * PAGE + 1));
        refused(entries, "memory/0000000000000000 has more than 8192 bytes");
        entries.put("memory/0000000000000000", random(2 * PAGE));
        entries.put("memory/0000000000200000", random(PAGE));
        refused(entries, "memory/0000000000200000 follows 8192 bytes of memory");
        entries.remove("memory/0000000000200000");
        entries.put("end.json", json("{'frames':2}"));
        refused(entries, "it has 1 entries of memory, and says that there are 2");
        entries.put("end.json", json("{}"));
        refused(entries, "end.json cannot be read");
        entries.put("end.json", json("{'frames':1}"));
        assertEquals(2 * PAGE, read(zip(entries)).memory.length);
    }

    @Test
    void shouldRefuseFramesInAnotherOrder() throws Exception {
        Map<String, byte[]> entries = new LinkedHashMap<>();
        entries.put("snapshot.json", json("{'format':1,'name':'g','sizeBytes':4194304,'pageSize':4096}"));
        entries.put("memory/0000000000200000", random(FRAME));
        entries.put("memory/0000000000000000", random(FRAME));
        refused(entries, "memory/0000000000000000 follows 4194304 bytes of memory");
    }

    @ParameterizedTest
    @CsvSource({"memory/", "memory/0", "memory/+000000000000000", "memory/0000000000001000", "other"})
    void shouldRefuseNamesThatAreNoFrames(String name) throws Exception {
        Map<String, byte[]> entries = begun();
        entries.put(name, random(PAGE));
        refused(entries, "it is damaged: " + name + " follows 0 bytes of memory");
    }

    @Test
    void shouldRefuseAStateThatIsMissingOrOfAnotherLength() throws Exception {
        Map<String, byte[]> entries = new LinkedHashMap<>();
        entries.put("snapshot.json", json("{'format':1,'name':'g','sizeBytes':4096,'pageSize':4096,'stateBytes':5}"));
        refused(entries, "vmm-state is missing");
        for (int length : new int[] {4, 6}) {
            entries.put("vmm-state", random(length));
            refused(entries, "it is damaged in vmm-state: it has not 5 bytes");
        }
    }
}
