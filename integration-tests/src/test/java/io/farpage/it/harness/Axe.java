package io.farpage.it.harness;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** axe-core: finds on a page what keeps readers out that use a keyboard, a screen reader, or need contrast. */
public final class Axe {
    private static final String RUN =
            "axe.run(document, {resultTypes: ['violations']}).then(found => found.violations.flatMap(rule =>"
                    + " rule.nodes.map(node => `${rule.id}: ${node.target}: ${node.failureSummary}`)))";

    private Axe() {}

    /** What the page that is open does wrong, a line each. */
    public static List<String> violations(Chromium browser) {
        browser.evaluate(script() + "; true");
        List<String> lines = new ArrayList<>();
        browser.evaluate(RUN).forEach(line -> lines.add(line.asString()));
        return lines;
    }

    private static String script() {
        try (InputStream in = Axe.class.getResourceAsStream("/axe.min.js")) {
            if (in == null) {
                throw new IllegalStateException("axe.min.js is not on the class path");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
