package io.farpage.bench.evict;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.guest.command.CommandException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class LackeyTraceTest {
    @TempDir
    private Path directory;

    private int[] read(String text) throws IOException {
        return LackeyTrace.read(Files.writeString(directory.resolve("trace"), text), 1000);
    }

    @Test
    void shouldNumberPagesInOrderOfFirstTouches() throws IOException {
        assertArrayEquals(new int[] {0, 1, 2}, read("""
                ==1234== Lackey, an example Valgrind tool
                I  0401000,3
                 L 1ffefff000,8
                 S 1ffefff008,8
                 M 0402000,4
                I  0401ffe,3
                """));
    }

    @Test
    void shouldRepeatPageWhenManyOthersWereTouchedSince() throws IOException {
        String others = IntStream.rangeClosed(1, 64)
                .mapToObj(page -> " L %x000,8%n".formatted(page))
                .collect(Collectors.joining());
        assertArrayEquals(
                IntStream.concat(IntStream.rangeClosed(0, 64), IntStream.of(0)).toArray(),
                read(" L 0,1\n" + others + " S 0,1\n"));
    }

    @Test
    void shouldSayWhatIsExpectedWhenNoLineIsATouch() {
        CommandException refused = assertThrows(CommandException.class, () -> read("hello, world\n L xyz,4\n"));
        assertTrue(String.valueOf(refused.getMessage()).contains("--trace-mem=yes"), refused::toString);
    }
}
