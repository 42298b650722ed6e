package io.farpage.rest;

import java.util.List;

/** Writes the reference of a service's metrics as Markdown. */
public final class MetricsPage {
    private MetricsPage() {}

    /**
     * The page of one program, beginning with a heading of level two.
     *
     * @param program its name
     * @param metrics with everything registered; no value is read
     */
    public static String of(String program, Metrics metrics) {
        StringBuilder page = new StringBuilder("## " + program + "\n\n");
        page.append("| Metric | Type | Unit | Labels | Meaning |\n|---|---|---|---|---|\n");
        metrics.catalog().metrics().forEach(metric -> page.append(row(metric)));
        return page.toString();
    }

    private static String row(MetricCatalog.Metric metric) {
        List<String> labels =
                metric.labels().stream().map(label -> "`" + label + "`").toList();
        return "| `%s` | %s | %s | %s | %s |\n"
                .formatted(metric.name(), metric.type(), metric.unit(), String.join(", ", labels), metric.help());
    }
}
