package io.farpage.config;

import java.util.List;

/** Writes the reference of a program's keys as Markdown, one section for each first word of the key names. */
public final class ReferencePage {

    private ReferencePage() {}

    /** The page of one program, beginning with a heading of level two. */
    public static String of(Schema schema) {
        StringBuilder page = new StringBuilder();
        page.append("## ").append(schema.program()).append("\n");
        String section = "";
        for (Key<?> key : schema.keys()) {
            String of = sectionOf(key);
            if (!of.equals(section)) {
                section = of;
                page.append("\n### ").append(section).append("\n\n");
                page.append("| Key | Default | Allowed | What it does |\n|---|---|---|---|\n");
            }
            page.append(row(key));
        }
        return page.toString();
    }

    private static String row(Key<?> key) {
        List<String> cells = List.of(
                "`" + key.name() + "`<br>`" + key.environmentName() + "`",
                key.defaultText()
                        .map(text -> text.isEmpty() ? "empty" : "`" + text + "`")
                        .orElse("none"),
                key.type().allowed(),
                key.doc());
        return cells.stream().map(cell -> cell.replace("|", "\\|")).reduce("|", (row, cell) -> row + " " + cell + " |")
                + "\n";
    }

    private static String sectionOf(Key<?> key) {
        int dot = key.name().indexOf('.');
        return dot < 0 ? "general" : key.name().substring(0, dot);
    }
}
