package io.farpage.bench.footprint;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A table of a footprint.
 *
 * @param name in the JSON
 * @param title what the rows are
 */
record Section(String name, String title, List<Row> rows) {
    private static final String GAP = "  ";

    Section {
        rows = List.copyOf(rows);
    }

    /** Title, heading and rows as text. */
    String text() {
        Set<Measure> measures = EnumSet.noneOf(Measure.class);
        rows.forEach(row -> measures.addAll(row.figures().values().keySet()));
        List<List<String>> cells = new ArrayList<>();
        List<String> heading = new ArrayList<>(List.of(""));
        measures.forEach(measure -> heading.add(measure.label()));
        cells.add(heading);
        for (Row row : rows) {
            List<String> line = new ArrayList<>(List.of(row.name()));
            for (Measure measure : measures) {
                Double value = row.figures().values().get(measure);
                line.add(value == null ? "" : measure.text(value));
            }
            cells.add(line);
        }
        StringBuilder text = new StringBuilder(title).append('\n');
        for (List<String> line : cells) {
            StringBuilder one = new StringBuilder();
            for (int column = 0; column < line.size(); column++) {
                int width = width(cells, column);
                one.append(GAP).append(("%" + (column == 0 ? "-" : "") + width + "s").formatted(line.get(column)));
            }
            text.append(one.toString().stripTrailing()).append('\n');
        }
        return text.toString();
    }

    private static int width(List<List<String>> cells, int column) {
        return Math.max(
                1,
                cells.stream().mapToInt(line -> line.get(column).length()).max().orElse(1));
    }

    /** As an object of JSON: figures by their keys. */
    Map<String, Object> json() {
        List<Map<String, Object>> lines = new ArrayList<>();
        for (Row row : rows) {
            Map<String, Object> line = new LinkedHashMap<>();
            line.put("name", row.name());
            row.figures().values().forEach((measure, value) -> line.put(measure.key(), value));
            lines.add(line);
        }
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("name", name);
        json.put("title", title);
        json.put("rows", lines);
        return json;
    }
}
