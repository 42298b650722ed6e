package io.farpage.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The faults that tests must find, in {@code build/mutations}, can be put into the sources as they are now. Running
 * them takes long, so a change of the sources would leave one behind unnoticed.
 */
@Tag("portable")
class DeliberateFaultsTest {
    private static final Path ROOT = Path.of(System.getProperty("farpage.root"));
    private static final Path LISTS = ROOT.resolve("build/mutations");

    @Test
    void shouldFindTheTextThatEachListedFaultTakesOutOnce() throws IOException {
        List<String> wrong = new ArrayList<>();
        int found = 0;
        for (Path list : files(LISTS, "")) {
            String source = "";
            for (String block : Files.readString(list).split("\n\\s*\n")) {
                StringBuilder old = new StringBuilder();
                for (String line : block.lines().map(String::strip).toList()) {
                    if (line.startsWith("file ")) {
                        source = dense(Files.readString(ROOT.resolve(line.substring("file ".length()))));
                    } else if (line.startsWith("- ")) {
                        old.append(dense(line.substring(2)));
                    }
                }
                if (!old.isEmpty()) {
                    found++;
                    if (occurrences(source, old.toString()) != 1) {
                        wrong.add(list.getFileName() + ": " + block);
                    }
                }
            }
        }
        assertTrue(found > 0, "no list has a fault");
        assertEquals(List.of(), wrong, "not exactly once in the file");
    }

    @Test
    void shouldFindTheTextThatEachPatchOfTheSimulationChanges() throws IOException {
        List<String> wrong = new ArrayList<>();
        int found = 0;
        for (Path patch : files(LISTS.resolve("simulation"), ".patch")) {
            String source = "";
            // A hunk ends before the next one, or before the next file.
            for (String hunk : Files.readString(patch).split("(?m)^(?=@@ |--- )")) {
                if (hunk.startsWith("--- a/")) {
                    source = Files.readString(
                            ROOT.resolve(hunk.lines().findFirst().orElseThrow().substring("--- a/".length())));
                } else if (hunk.startsWith("@@ ")) {
                    found++;
                    if (occurrences(source, before(hunk)) < 1) {
                        wrong.add(patch.getFileName() + ": " + hunk);
                    }
                }
            }
        }
        assertTrue(found > 0, "no patch has a hunk");
        assertEquals(List.of(), wrong, "not in the file");
    }

    private static List<Path> files(Path directory, String ending) throws IOException {
        try (Stream<Path> all = Files.list(directory)) {
            return all.filter(Files::isRegularFile)
                    .filter(file ->
                            file.toString().endsWith(ending) && !file.toString().endsWith(".md"))
                    .sorted()
                    .toList();
        }
    }

    /** Without white space, which the formatter may have changed. */
    private static String dense(String text) {
        return text.replaceAll("\\s", "");
    }

    /** The lines that a hunk expects. */
    private static String before(String hunk) {
        StringBuilder text = new StringBuilder();
        for (String line : hunk.lines().skip(1).toList()) {
            if (line.startsWith(" ") || line.startsWith("-")) {
                text.append(line, 1, line.length()).append('\n');
            }
        }
        return text.toString();
    }

    private static int occurrences(String text, String of) {
        int count = 0;
        for (int at = text.indexOf(of); at >= 0; at = text.indexOf(of, at + 1)) {
            count++;
        }
        return count;
    }
}
