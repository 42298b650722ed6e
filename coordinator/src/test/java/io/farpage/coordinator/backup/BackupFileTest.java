package io.farpage.coordinator.backup;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.StoreCopy;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is read from files that are backups, and from those that are none. */
class BackupFileTest {

    private static final StoreCopy COPY = copy("nodes");

    private final Path file;

    BackupFileTest(@TempDir Path directory) {
        file = directory.resolve("cluster.backup");
    }

    private static StoreCopy copy(String table) {
        return new StoreCopy(
                7, new TreeMap<>(Map.of(table, new TreeMap<>(Map.of("a", "{\"text\": \"zwölf\\n\"}", "b", "{}")))));
    }

    private String refusal(byte[] bytes) throws IOException {
        Files.write(file, bytes);
        String message = String.valueOf(
                assertThrows(BackupException.class, () -> BackupFile.read(file)).getMessage());
        assertTrue(message.contains(file.toString()), message);
        return message;
    }

    private String refusal(String text) throws IOException {
        return refusal(text.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void shouldReadWhatWasWritten() throws IOException {
        Files.writeString(file, BackupFile.text(COPY));
        assertEquals(COPY, BackupFile.read(file));
    }

    @Test
    void shouldRefuseAFileThatLostItsEndWhereverItWasCut() throws IOException {
        byte[] whole = BackupFile.text(COPY).getBytes(StandardCharsets.UTF_8);
        for (int length = 0; length < whole.length; length++) {
            String message = refusal(Arrays.copyOf(whole, length));
            assertTrue(
                    message.contains("take another copy") || message.contains("name a file that 'coordinator backup'"),
                    message);
        }
        assertTrue(
                refusal(Arrays.copyOf(whole, whole.length - 1)).contains("and %d were written".formatted(body(whole))));
        assertTrue(refusal(Arrays.copyOf(whole, whole.length + 1)).contains("is damaged: it has"));
    }

    private static int body(byte[] whole) {
        String text = new String(whole, StandardCharsets.UTF_8);
        return text.substring(text.indexOf('\n') + 1).getBytes(StandardCharsets.UTF_8).length;
    }

    @Test
    void shouldRefuseAFileInWhichAnyBitHasChanged() throws IOException {
        byte[] whole = BackupFile.text(COPY).getBytes(StandardCharsets.UTF_8);
        for (int i = 0; i < whole.length; i++) {
            byte[] damaged = whole.clone();
            damaged[i] ^= (byte) (1 << (i % 8));
            refusal(damaged);
        }
        whole[whole.length - 2]++;
        assertTrue(
                refusal(whole).contains("is damaged: its SHA-256 is not that of what was written; take another copy"));
    }

    @Test
    void shouldRefuseFilesOfOtherPrograms() throws IOException {
        assertTrue(refusal("").contains("is not a backup of a coordinator, or has lost its end"));
        assertTrue(refusal("{\"revision\": 1, \"tables\": {}}\n").contains("its first line is not that of one"));
        byte[] noise = new byte[4096];
        new SplittableRandom(1).nextBytes(noise);
        assertTrue(refusal(noise).contains("name a file that 'coordinator backup' has written"));
    }

    @Test
    void shouldNameBothVersionsWhenTheFileIsOfANewerProgram() throws IOException {
        String newer = BackupFile.text(COPY).replaceFirst(" version 2 ", " version 3 ");
        assertTrue(refusal(newer)
                .contains("has version 3, and this program reads version 2; restore it with the program that made it"));
        assertTrue(refusal("farpage-coordinator-backup version 4 in a format of its own\n\0\1\2")
                .contains("has version 4"));
    }

    @Test
    void shouldRefuseATableThatThisProgramDoesNotKnow() throws IOException {
        assertTrue(refusal(BackupFile.text(copy("wormholes")))
                .contains("has the table 'wormholes', which this program does not know"));
    }

    @Test
    void shouldRefuseAFileThatDoesNotExistAndADirectory(@TempDir Path directory) {
        assertTrue(String.valueOf(assertThrows(BackupException.class, () -> BackupFile.read(directory.resolve("none")))
                        .getMessage())
                .contains("NoSuchFileException"));
        assertTrue(String.valueOf(assertThrows(BackupException.class, () -> BackupFile.read(directory))
                        .getMessage())
                .contains("cannot be read"));
    }
}
