package io.farpage.bench.baseline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.bench.pattern.PageNumbers;
import io.farpage.bench.pattern.PagePattern;
import io.farpage.guest.content.PageContent;
import io.farpage.it.deadlines.Deadlines;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Page content and page numbers are defined twice, in C and in Java; a C program built here says they are the same. */
final class SameDefinitionsTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    @TempDir
    private Path directory;

    @ParameterizedTest
    @CsvSource({"0, 1000, 0.99", "1, 65536, 1", "18446744073709551615, 7, 1.5", "20260101, 2147483648, 0.5"})
    void shouldAgreeWithC(String seedText, long pages, double exponent) throws Exception {
        long seed = Long.parseUnsignedLong(seedText);
        Iterator<String> printed = print(seedText, pages, exponent);

        MemorySegment page = Arena.ofAuto().allocate(4096, 8);
        for (long number = 0; number < 8; number++) {
            PageContent.fill(page, seed, number * 1000003);
            for (int at = 0; at < 4096; at += 8) {
                assertEquals(printed.next(), Long.toHexString(page.get(ValueLayout.JAVA_LONG, at)));
            }
        }
        for (PagePattern pattern : PagePattern.values()) {
            PageNumbers numbers = pattern.over(pages, seed, exponent);
            long same = 0;
            for (int i = 0; i < 1000; i++) {
                same += printed.next().equals(Long.toString(numbers.next())) ? 1 : 0;
            }
            // Zipf goes through log and exp, whose last bit may differ between C libraries and so a rare draw.
            long least = pattern == PagePattern.ZIPF ? 990 : 1000;
            assertTrue(same >= least, pattern + ": " + same + " of 1000 numbers are the same");
        }
    }

    private Iterator<String> print(String seed, long pages, double exponent) throws IOException, InterruptedException {
        Optional<CCompiler> compiler = CCompiler.find(System.getenv("PATH"));
        assumeTrue(compiler.isPresent(), "no C compiler on the PATH");
        for (String header : new String[] {"page_content.h", "page_numbers.h"}) {
            Files.copy(Path.of("baseline", header), directory.resolve(header), StandardCopyOption.REPLACE_EXISTING);
        }
        Path source = directory.resolve("print_definitions.c");
        Files.copy(Path.of("src/test/c/print_definitions.c"), source, StandardCopyOption.REPLACE_EXISTING);
        Path program = directory.resolve("print_definitions");
        compiler.orElseThrow().compile(source, program, List.of("m"), TIMEOUT);
        Path output = directory.resolve("printed");
        Process process = new ProcessBuilder(program.toString(), seed, Long.toString(pages), Double.toString(exponent))
                .redirectOutput(output.toFile())
                .start();
        Deadlines.exit("the end of the process", TIMEOUT, process);
        assertEquals(0, process.exitValue());
        return Files.readAllLines(output).iterator();
    }
}
