package io.farpage.coordinator.command;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;

/** Rows for people, in columns as wide as their longest cell. */
final class TextTable {

    private static final String GAP = "  ";

    private final List<List<String>> rows = new ArrayList<>();

    /** A table with a first row of headings. */
    TextTable(String... headings) {
        rows.add(List.of(headings));
    }

    /** Adds a row with as many cells as there are headings. */
    void add(String... cells) {
        if (cells.length != rows.getFirst().size()) {
            throw new IllegalArgumentException("%d cells in a table of %d columns"
                    .formatted(cells.length, rows.getFirst().size()));
        }
        rows.add(List.of(cells));
    }

    void print(PrintWriter out) {
        int[] widths = new int[rows.getFirst().size()];
        for (List<String> row : rows) {
            for (int i = 0; i < widths.length; i++) {
                widths[i] = Math.max(widths[i], row.get(i).length());
            }
        }
        for (List<String> row : rows) {
            StringBuilder line = new StringBuilder();
            for (int i = 0; i < widths.length; i++) {
                line.append(row.get(i))
                        .repeat(' ', widths[i] - row.get(i).length())
                        .append(GAP);
            }
            out.println(line.toString().stripTrailing());
        }
        out.flush();
    }
}
