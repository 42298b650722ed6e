package io.farpage.site;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.commonmark.node.AbstractVisitor;
import org.commonmark.node.Heading;
import org.commonmark.node.Link;

/** The groups of pages by reader, as the page docs/README.md has them: a heading for each, and its links. */
record Contents(List<Group> groups) {

    /**
     * Pages for one reader.
     *
     * @param title heading
     * @param entries in their order
     */
    record Group(String title, List<Entry> entries) {}

    /**
     * One of them.
     *
     * @param title how the group names it
     * @param source the page
     */
    record Entry(String title, Path source) {}

    /** Links to pages, without those to a heading of one. */
    static Contents of(Page index) {
        List<Group> groups = new ArrayList<>();
        index.document().accept(new AbstractVisitor() {
            @Override
            public void visit(Heading heading) {
                if (heading.getLevel() == 2) {
                    groups.add(new Group(Anchors.textOf(heading), new ArrayList<>()));
                }
            }

            @Override
            public void visit(Link link) {
                if (!groups.isEmpty() && link.getDestination().endsWith(".md")) {
                    Path target =
                            index.source().resolveSibling(link.getDestination()).normalize();
                    groups.getLast().entries().add(new Entry(Anchors.textOf(link), target));
                }
            }
        });
        return new Contents(List.copyOf(groups));
    }
}
