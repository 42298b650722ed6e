package io.farpage.site;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The site as it is made of docs/. */
@Tag("portable")
class SiteTest {
    private static final Path ROOT = Path.of(System.getProperty("farpage.root", "../.."))
            .toAbsolutePath()
            .normalize();
    private static final Pattern REFERENCE = Pattern.compile("(?:href|src)=\"([^\"]*)\"");
    private static final Pattern ID = Pattern.compile(" id=\"([^\"]*)\"");

    @TempDir
    private Path output = Path.of("");

    @Test
    void shouldHaveOnlyLinksToFilesAndHeadingsOfTheSite() throws IOException {
        new Site(ROOT, output).write();
        List<String> broken = new ArrayList<>();
        int links = 0;
        for (Path page : pages()) {
            Matcher reference = REFERENCE.matcher(text(page));
            while (reference.find()) {
                String link = reference.group(1);
                if (link.contains("://") || link.startsWith("data:")) {
                    continue;
                }
                links++;
                String[] parts = link.split("#", 2);
                Path target = parts[0].isEmpty()
                        ? page
                        : page.resolveSibling(parts[0]).normalize();
                if (!Files.isRegularFile(target)
                        || (parts.length == 2 && !ids(target).contains(parts[1]))) {
                    broken.add(output.relativize(page) + ": " + link);
                }
            }
        }
        assertEquals(List.of(), broken);
        assertTrue(links > 1000, "few links: " + links);
    }

    @Test
    void shouldLoadNothingFromElsewhere() throws IOException {
        new Site(ROOT, output).write();
        Pattern loaded = Pattern.compile("<(?:script|iframe|link|img)[^>]*(?:src|href)=\"(?:https?:)?//|<script");
        assertEquals(
                List.of(),
                pages().stream()
                        .filter(page -> loaded.matcher(text(page)).find())
                        .toList());
        assertTrue(!text(output.resolve("style.css")).contains("url("));
    }

    /** So a reader finds each page from the first one. */
    @Test
    void shouldListEachPageOfDocsInItsContents() throws IOException {
        Set<Path> listed = Contents.of(Page.read(ROOT.resolve("docs/README.md"))).groups().stream()
                .flatMap(group -> group.entries().stream())
                .map(Contents.Entry::source)
                .collect(Collectors.toSet());
        try (Stream<Path> docs = Files.list(ROOT.resolve("docs"))) {
            List<Path> missing = docs.filter(file -> file.toString().endsWith(".md"))
                    .filter(file -> !file.endsWith("docs/README.md"))
                    .filter(file -> !listed.contains(file))
                    .sorted()
                    .toList();
            assertEquals(List.of(), missing, "docs/README.md does not list them");
        }
    }

    @Test
    void shouldRefuseLinkToFileThatDoesNotExist() throws IOException {
        Path page = Files.createDirectories(output.resolve("docs")).resolve("a.md");
        Files.writeString(page, "# A\n\n[gone](gone.md)\n");
        IllegalArgumentException refused = assertThrows(
                IllegalArgumentException.class, () -> Page.read(page).html(new Targets(output)));
        assertTrue(String.valueOf(refused.getMessage()).contains("'gone.md'"), refused.getMessage());
    }

    @Test
    void shouldNameHeadingsAsGitHubDoes() throws IOException {
        Path page = Files.createDirectories(output.resolve("docs")).resolve("a.md");
        Files.writeString(page, "# A `b.c` [d](#x), e-f\n\n## X\n\n## X\n");
        String html = Page.read(page).html(new Targets(output));
        assertEquals(List.of("a-bc-d-e-f", "x", "x-1"), List.copyOf(found(html)));
        assertEquals(Optional.of("../adr/index.html"), Optional.of(Targets.relative("about/x.html", "adr/index.html")));
    }

    private static List<String> found(String html) {
        return ID.matcher(html).results().map(one -> one.group(1)).toList();
    }

    private static Set<String> ids(Path page) {
        return new HashSet<>(found(text(page)));
    }

    private List<Path> pages() throws IOException {
        try (Stream<Path> files = Files.walk(output)) {
            return files.filter(file -> file.toString().endsWith(".html")).toList();
        }
    }

    private static String text(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
