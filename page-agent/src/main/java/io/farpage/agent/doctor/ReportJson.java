package io.farpage.agent.doctor;

import io.farpage.rest.Json;
import java.util.List;

/** Writes a report for machines: one JSON document. */
public final class ReportJson {
    private ReportJson() {}

    /** The document: {@code {"result", "ok", "warn", "fail", "lines": [{"id", "subject", "level", "detail", "fix"}]}}. */
    public static String of(Report report) {
        List<Entry> lines = report.lines().stream()
                .map(line -> new Entry(line.id(), line.subject(), line.level().word(), line.detail(), line.fix()))
                .toList();
        return Json.STRICT
                .writerWithDefaultPrettyPrinter()
                .writeValueAsString(new Document(
                        report.result().word(),
                        report.count(Level.OK),
                        report.count(Level.WARN),
                        report.count(Level.FAIL),
                        lines));
    }

    private record Document(String result, long ok, long warn, long fail, List<Entry> lines) {}

    private record Entry(String id, String subject, String level, String detail, String fix) {}
}
