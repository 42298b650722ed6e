package io.farpage.site;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Writes the site. */
final class Site {
    /** Pages outside docs/. */
    private static final List<String> OTHERS = List.of("README.md", "CONTRIBUTING.md", "build/mutations/README.md");

    private final Path root;
    private final Path output;
    private final Targets targets;

    Site(Path root, Path output) {
        this.root = root;
        this.output = output;
        this.targets = new Targets(root);
    }

    /**
     * Writes all pages, and the files that they link to.
     *
     * @return how many pages
     * @throws IllegalArgumentException if a page links to a file that does not exist
     */
    int write() throws IOException {
        Contents contents = Contents.of(Page.read(root.resolve("docs/README.md")));
        Layout layout = new Layout(contents, targets);
        List<Path> sources = sources();
        for (Path source : sources) {
            Page page = Page.read(source);
            String address = targets.page(source);
            write(address, layout.page(address, page.title(), page.html(targets)));
        }
        for (Map.Entry<Path, String> copy : targets.copies().entrySet()) {
            copy(layout, copy.getKey(), copy.getValue());
        }
        try (InputStream style = Objects.requireNonNull(Site.class.getResourceAsStream(Layout.STYLE))) {
            Files.copy(style, output.resolve(Layout.STYLE), StandardCopyOption.REPLACE_EXISTING);
        }
        return sources.size();
    }

    private List<Path> sources() throws IOException {
        List<Path> sources = new ArrayList<>();
        try (Stream<Path> docs = Files.walk(root.resolve("docs"))) {
            docs.filter(file -> file.toString().endsWith(".md")).sorted().forEach(sources::add);
        }
        OTHERS.forEach(other -> sources.add(root.resolve(other)));
        return sources;
    }

    private void copy(Layout layout, Path source, String address) throws IOException {
        if (!Files.isDirectory(source)) {
            Path target = Files.createDirectories(
                            Objects.requireNonNull(output.resolve(address).getParent()))
                    .resolve(Objects.requireNonNull(Path.of(address).getFileName()));
            Files.copy(source, target, StandardCopyOption.REPLACE_EXISTING);
            return;
        }
        String title = root.relativize(source).toString();
        try (Stream<Path> files = Files.list(source)) {
            String entries = files.sorted()
                    .map(file -> "<li><code>" + Layout.escape(String.valueOf(file.getFileName())) + "</code></li>\n")
                    .collect(Collectors.joining());
            write(
                    address,
                    layout.page(
                            address, title, "<h1>%s</h1>\n<ul>\n%s</ul>\n".formatted(Layout.escape(title), entries)));
        }
    }

    private void write(String address, String html) throws IOException {
        Path file = output.resolve(address);
        Files.createDirectories(Objects.requireNonNull(file.getParent()));
        Files.writeString(file, html);
    }
}
