package io.farpage.linux;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class DescriptorReserveTest {
    @Test
    void shouldHoldTheHighestNumbersBelowTheLimit() {
        assertFalse(DescriptorReserve.contains(935, 64, 1_000));
        assertTrue(DescriptorReserve.contains(936, 64, 1_000));
        assertTrue(DescriptorReserve.contains(1_500, 64, 1_000), "the limit was lowered after the descriptor was made");
    }

    @Test
    void shouldReserveAtMostAnEighthOfTheLimit() {
        assertFalse(DescriptorReserve.contains(69, 64, 80));
        assertTrue(DescriptorReserve.contains(70, 64, 80));
    }

    @Test
    void shouldReadTheLimitThatTheJvmRaisedToTheHardOne() throws IOException {
        String line = Files.readAllLines(Path.of("/proc/self/limits")).stream()
                .filter(limit -> limit.startsWith("Max open files"))
                .findFirst()
                .orElseThrow();
        String[] words = line.split("\\s+");
        assertEquals(words[3], Long.toString(DescriptorReserve.limit()));
        assertEquals(words[4], words[3]);
        assertTrue(DescriptorReserve.leavesRoom(DescriptorReserve.ORDINARY));
    }
}
