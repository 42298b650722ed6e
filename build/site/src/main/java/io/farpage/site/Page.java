package io.farpage.site;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.commonmark.ext.gfm.tables.TableBlock;
import org.commonmark.ext.gfm.tables.TablesExtension;
import org.commonmark.node.AbstractVisitor;
import org.commonmark.node.Heading;
import org.commonmark.node.Image;
import org.commonmark.node.Link;
import org.commonmark.node.Node;
import org.commonmark.parser.Parser;
import org.commonmark.renderer.html.HtmlRenderer;

/** A page of Markdown. */
final class Page {
    private static final List<TablesExtension> EXTENSIONS = List.of((TablesExtension) TablesExtension.create());
    private static final Parser PARSER = Parser.builder().extensions(EXTENSIONS).build();

    private final Path source;
    private final Node document;

    private Page(Path source, Node document) {
        this.source = source;
        this.document = document;
    }

    static Page read(Path source) throws IOException {
        return new Page(source, PARSER.parse(Files.readString(source)));
    }

    Path source() {
        return source;
    }

    Node document() {
        return document;
    }

    /** Its first heading. */
    String title() {
        for (Node node = document.getFirstChild(); node != null; node = node.getNext()) {
            if (node instanceof Heading heading) {
                return Anchors.textOf(heading);
            }
        }
        throw new IllegalArgumentException("page %s has no heading; begin it with '# TITLE'".formatted(source));
    }

    /**
     * Its content as HTML.
     *
     * @throws IllegalArgumentException if it links to a file that does not exist
     */
    String html(Targets targets) {
        document.accept(new AbstractVisitor() {
            @Override
            public void visit(Link link) {
                link.setDestination(resolved(targets, link.getDestination()));
                visitChildren(link);
            }

            @Override
            public void visit(Image image) {
                image.setDestination(resolved(targets, image.getDestination()));
            }
        });
        Anchors anchors = new Anchors();
        return HtmlRenderer.builder()
                .extensions(EXTENSIONS)
                .attributeProviderFactory(_ -> (node, _, attributes) -> attribute(anchors, node, attributes))
                .build()
                .render(document);
    }

    private static void attribute(Anchors anchors, Node node, Map<String, String> attributes) {
        if (node instanceof Heading heading) {
            attributes.put("id", anchors.of(heading));
        } else if (node instanceof TableBlock) {
            // Wide ones scroll by themselves, also by the keyboard.
            attributes.put("tabindex", "0");
        }
    }

    private String resolved(Targets targets, String link) {
        return targets.link(source, link)
                .orElseThrow(() -> new IllegalArgumentException(
                        "page %s links to '%s', which does not exist".formatted(source, link)));
    }
}
