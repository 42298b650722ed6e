package io.farpage.bench.report;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramIterationValue;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * A report as one page of HTML with its style, its script and its data inside, drawn by the browser with nothing to
 * load.
 */
final class ReportPage {
    private static final int TICKS_PER_HALF = 8;

    private ReportPage() {}

    static String render(FetchReport report) {
        ObjectNode data = ReportJson.tree(report);
        ArrayNode curves = data.putArray("curves");
        for (FetchRun run : report.runs()) {
            ObjectNode curve = curves.addObject();
            addCurve(curve.putArray("farpage"), run.latencies());
            if (run.baseline() instanceof Baseline.Measured measured) {
                addCurve(curve.putArray("baseline"), FetchRun.merged(measured.rounds()));
            }
        }
        // Inside a script element only "</" and "<!--" could end or confuse it; JSON allows the escaped form.
        String json = data.toString().replace("<", "\\u003c");
        return resource("fetch.html")
                .replace("/*SUBJECT*/", report.subject().label())
                .replace("/*STYLE*/", resource("fetch.css"))
                .replace("/*SCRIPT*/", resource("fetch.js"))
                .replace("/*DATA*/", json);
    }

    /** Points of (percentile, nanoseconds), denser toward the tail; the last is the maximum, at 100. */
    private static void addCurve(ArrayNode points, Histogram latencies) {
        for (HistogramIterationValue value : latencies.percentiles(TICKS_PER_HALF)) {
            points.addArray().add(value.getPercentileLevelIteratedTo()).add(value.getValueIteratedTo());
        }
    }

    private static String resource(String name) {
        try (InputStream in = ReportPage.class.getResourceAsStream(name)) {
            if (in == null) {
                throw new IllegalStateException("the resource " + name + " is missing from the bench jar");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException("reading the resource " + name + " of the bench jar", e);
        }
    }
}
