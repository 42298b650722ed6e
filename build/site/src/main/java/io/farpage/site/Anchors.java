package io.farpage.site;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import org.commonmark.node.AbstractVisitor;
import org.commonmark.node.Code;
import org.commonmark.node.Heading;
import org.commonmark.node.Node;
import org.commonmark.node.SoftLineBreak;
import org.commonmark.node.Text;

/** Names of the headings of one page, as GitHub makes them, so that a link leads to the same place on both. */
final class Anchors {
    private final Map<String, Integer> taken = new HashMap<>();

    /** The name of the next heading of the page. */
    String of(Heading heading) {
        String name = textOf(heading)
                .toLowerCase(Locale.ROOT)
                .replaceAll("[^\\p{L}\\p{N} _-]", "")
                .strip()
                .replace(' ', '-');
        int before = taken.merge(name, 1, Integer::sum) - 1;
        return before == 0 ? name : name + "-" + before;
    }

    /** What a node says, without marks. */
    static String textOf(Node node) {
        StringBuilder text = new StringBuilder();
        node.accept(new AbstractVisitor() {
            @Override
            public void visit(Text one) {
                text.append(one.getLiteral());
            }

            @Override
            public void visit(Code one) {
                text.append(one.getLiteral());
            }

            @Override
            public void visit(SoftLineBreak one) {
                text.append(' ');
            }
        });
        return text.toString();
    }
}
