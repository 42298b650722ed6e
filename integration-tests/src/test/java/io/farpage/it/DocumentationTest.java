package io.farpage.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What the pages in docs/ and the README say of other pages and of messages, held against the tree. */
@Tag("portable")
class DocumentationTest {
    private static final Path ROOT =
            Path.of(System.getProperty("farpage.root", "..")).toAbsolutePath().normalize();

    /** A link of Markdown: its target, and what follows a number sign. */
    private static final Pattern LINK = Pattern.compile("\\]\\(([^)#\\s]*)(?:#([^)\\s]+))?\\)");

    private static final Pattern FENCED = Pattern.compile("(?ms)^```.*?^```");
    private static final Pattern HEADING = Pattern.compile("(?m)^#+ +(.+)$");
    private static final Pattern MESSAGE = Pattern.compile("(?m)^\\*\\*`(.+)`\\*\\*$");

    /** Where a string literal of the sources is continued: a quote, a plus sign, a quote. */
    private static final Pattern CONTINUED = Pattern.compile("\"\\s*\\+\\s*\"");

    /** What stands in a source where a message has a value: a format, braces, or an expression between two literals. */
    private static final String VALUE = "[^;]{0,80}?";

    private final Map<Path, Set<String>> anchors = new HashMap<>();

    @Test
    void shouldLinkOnlyToPagesAndHeadingsThatExist() throws IOException {
        List<String> broken = new ArrayList<>();
        List<Path> pages = pages();
        int links = 0;
        for (Path page : pages) {
            Matcher link = LINK.matcher(withoutCode(page));
            while (link.find()) {
                if (link.group(1).contains("://")) {
                    continue;
                }
                links++;
                Path target = link.group(1).isEmpty()
                        ? page
                        : page.resolveSibling(link.group(1)).normalize();
                if (!Files.exists(target)
                        || (link.group(2) != null && !anchorsOf(target).contains(link.group(2)))) {
                    broken.add(ROOT.relativize(page) + ": " + link.group());
                }
            }
        }
        assertEquals(List.of(), broken);
        assertTrue(links > 100, () -> "few links were found in " + pages);
    }

    @Test
    void shouldExplainOnlyMessagesThatProgramsPrint() throws IOException {
        String sources = sources();
        List<String> messages = MESSAGE.matcher(Files.readString(ROOT.resolve("docs/troubleshooting.md")))
                .results()
                .map(found -> found.group(1))
                .toList();
        assertTrue(messages.size() > 30, () -> "few messages were found: " + messages);
        assertEquals(
                List.of(),
                messages.stream()
                        .filter(message -> !inSources(message).matcher(sources).find())
                        .toList());
    }

    /**
     * A value before all words, or behind them, may be anything: to look for it at each character of the sources takes
     * most of a minute.
     */
    private static Pattern inSources(String message) {
        return Pattern.compile(Arrays.stream(message.replaceAll("^…|…$", "").split("…", -1))
                .map(Pattern::quote)
                .collect(Collectors.joining(VALUE)));
    }

    private static List<Path> pages() throws IOException {
        try (Stream<Path> docs = Files.walk(ROOT.resolve("docs"))) {
            return Stream.concat(
                            Stream.of("README.md", "CONTRIBUTING.md", "build/mutations/README.md")
                                    .map(ROOT::resolve),
                            docs.filter(file -> file.toString().endsWith(".md")))
                    .toList();
        }
    }

    /** The main sources, with literals that are continued joined. */
    private static String sources() throws IOException {
        try (Stream<Path> files = Files.walk(ROOT)) {
            return files.filter(file -> file.toString().endsWith(".java"))
                    .filter(file -> file.toString().contains("/src/main/java/"))
                    .map(DocumentationTest::text)
                    .map(text -> CONTINUED.matcher(text).replaceAll(""))
                    .collect(Collectors.joining("\n"));
        }
    }

    private Set<String> anchorsOf(Path page) {
        return anchors.computeIfAbsent(
                page,
                one -> HEADING.matcher(withoutCode(one))
                        .results()
                        .map(found -> anchor(found.group(1)))
                        .collect(Collectors.toCollection(HashSet::new)));
    }

    /** As GitHub makes them: lower case, hyphens for spaces, no punctuation. */
    private static String anchor(String heading) {
        return heading.replaceAll("\\[([^\\]]*)\\]\\([^)]*\\)", "$1")
                .toLowerCase(Locale.ROOT)
                .replaceAll("[^\\p{L}\\p{N} _-]", "")
                .strip()
                .replace(' ', '-');
    }

    private static String withoutCode(Path page) {
        return FENCED.matcher(text(page)).replaceAll("");
    }

    private static String text(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
