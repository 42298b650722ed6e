package io.farpage.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

final class LeadRehearsalTest {

    @Test
    void shouldStartAndEndACoordinatorAndLeaveNothingBehind() throws IOException {
        List<Path> before = directories();
        assertTrue(LeadRehearsal.run());
        assertEquals(before, directories());
    }

    private static List<Path> directories() throws IOException {
        try (Stream<Path> all = Files.list(Path.of(System.getProperty("java.io.tmpdir")))) {
            return all.filter(path -> path.getFileName().toString().startsWith("farpage-follower"))
                    .sorted()
                    .toList();
        }
    }
}
