package io.farpage.bench.report;

import java.util.List;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * A report as JSON: the headline's figures at the top, then the conditions, what was left out and, under {@code runs},
 * every run's.
 */
final class ReportJson {
    static final JsonMapper MAPPER =
            JsonMapper.builder().enable(SerializationFeature.INDENT_OUTPUT).build();

    private ReportJson() {}

    static String render(FetchReport report) {
        return MAPPER.writeValueAsString(tree(report)) + "\n";
    }

    static ObjectNode tree(FetchReport report) {
        List<FetchResult> results = report.results();
        ObjectNode root = MAPPER.valueToTree(results.getFirst());
        root.put("subject", report.subject().label());
        root.set("conditions", MAPPER.valueToTree(report.conditions()));
        root.set("leftOut", MAPPER.valueToTree(report.leftOut()));
        root.set("runs", MAPPER.valueToTree(results));
        return root;
    }
}
