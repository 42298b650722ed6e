package io.farpage.site;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** Where files of the repository are in the site. */
final class Targets {
    private static final String MARKDOWN = ".md";

    private final Path root;
    private final Path docs;
    private final Map<Path, String> copies = new LinkedHashMap<>();

    Targets(Path root) {
        this.root = root;
        this.docs = root.resolve("docs");
    }

    /** The address of a page, relative to the site. */
    String page(Path source) {
        Path relative = source.startsWith(docs)
                ? docs.relativize(source)
                : Path.of("about").resolve(root.relativize(source));
        String name = relative.toString();
        String html = name.substring(0, name.length() - MARKDOWN.length()) + ".html";
        return html.equals("README.html") || html.endsWith("/README.html")
                ? html.substring(0, html.length() - "README.html".length()) + "index.html"
                : html;
    }

    /**
     * The link of a page as the site has it.
     *
     * @param from the page
     * @param link its target as the page has it
     * @return empty if a file of the repository is meant that does not exist
     */
    Optional<String> link(Path from, String link) {
        if (link.contains("://") || link.startsWith("mailto:") || link.startsWith("#")) {
            return Optional.of(link);
        }
        int hash = link.indexOf('#');
        String path = hash < 0 ? link : link.substring(0, hash);
        String anchor = hash < 0 ? "" : link.substring(hash);
        Path target = from.resolveSibling(path).normalize();
        if (!Files.exists(target) || !target.startsWith(root)) {
            return Optional.empty();
        }
        return Optional.of(relative(page(from), address(target)) + anchor);
    }

    private String address(Path target) {
        if (target.toString().endsWith(MARKDOWN)) {
            return page(target);
        }
        Path readme = target.resolve("README.md");
        if (Files.exists(readme)) {
            return page(readme);
        }
        return copies.computeIfAbsent(
                target,
                one -> one.startsWith(docs)
                        ? docs.relativize(one).toString()
                        : "files/" + root.relativize(one) + (Files.isDirectory(one) ? "/index.html" : ".txt"));
    }

    /** Files and folders of the repository that pages link to and that are not pages, with their addresses. */
    Map<Path, String> copies() {
        return copies;
    }

    /** From one address of the site to another. */
    static String relative(String from, String to) {
        Path folder = Optional.ofNullable(Path.of(from).getParent()).orElse(Path.of(""));
        return folder.relativize(Path.of(to)).toString();
    }
}
