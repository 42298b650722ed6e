package io.farpage.cli.local;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StateFolderTest {

    @TempDir
    private Path directory = Path.of("");

    private StateFolder folder() {
        return new StateFolder(directory.resolve("state"));
    }

    @Test
    void shouldStayLockedWhenTheFolderIsDeletedAndMadeAnew() throws IOException {
        try (FileChannel _ = folder().lock()) {
            folder().delete();
            assertThrows(LocalClusterException.class, () -> folder().lock(), "while it is deleted");
            folder().make();
            assertThrows(LocalClusterException.class, () -> folder().lock(), "after it was made anew");
        }
        folder().lock().close();
    }

    @Test
    void shouldMakeAnEmptyFolderAndDeleteAllOfIt() throws IOException {
        try (FileChannel _ = folder().lock()) {
            try (var files = Files.list(folder().path())) {
                assertEquals(0, files.count());
            }
            folder().delete();
        }
        assertFalse(Files.exists(folder().path()));
    }

    @Test
    void shouldRefuseAFolderOfSomethingElseAndGiveItsLockBack() throws IOException {
        Files.createDirectories(folder().path());
        Path foreign = Files.createFile(folder().file("letter.txt"));
        assertTrue(String.valueOf(assertThrows(LocalClusterException.class, () -> folder().lock())
                        .getMessage())
                .contains("letter.txt"));
        Files.delete(foreign);
        folder().lock().close();
    }

    @Test
    void shouldFindAnObstacleWhereNoFileCanBeMade() throws IOException {
        assertEquals(Optional.empty(), folder().obstacle());
        Path file = Files.createFile(directory.resolve("file"));
        for (Path below : List.of(file.resolve("state"), file.resolve("deeper/state"))) {
            String obstacle = new StateFolder(below).obstacle().orElseThrow().toString();
            assertTrue(obstacle.contains("cannot write to " + file + "; fix: "), obstacle);
        }
        assertFalse(Files.exists(folder().path()));
    }

    @Test
    void shouldSayHowManyBytesAreFreeWhereTheFolderWillBe() throws IOException {
        long free = new StateFolder(directory.resolve("not/yet/made")).freeBytes();
        assertTrue(free > 0, "free bytes: " + free);
        assertFalse(Files.exists(directory.resolve("not")));
    }
}
