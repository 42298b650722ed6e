package io.farpage.bench.node;

import io.farpage.bench.baseline.BaselineSettings.Verification;
import io.farpage.bench.pattern.PagePattern;
import java.time.Duration;
import java.util.Map;

/**
 * What a fetching node is started with; its one argument, as {@link Lines} writes it.
 *
 * @param home id of the node that is to hold the pages
 * @param space name of the space to make for them
 * @param pages how many
 * @param pageSize in bytes
 * @param depth fetches under way at once
 * @param pattern in which they are fetched
 * @param zipfExponent of the zipf pattern
 * @param seed of content and pattern
 * @param verification of fetched pages
 * @param sealed whether pages are sealed on their home
 * @param startTimeout how long the home may take to register, and the link to come up
 * @param agent configuration of the node's agent, key to value
 */
public record NodeSettings(
        String home,
        String space,
        long pages,
        int pageSize,
        int depth,
        PagePattern pattern,
        double zipfExponent,
        long seed,
        Verification verification,
        boolean sealed,
        Duration startTimeout,
        Map<String, String> agent) {
    /** Transfers that must be possible at once: pages are filled several at a time whatever the depth. */
    public static final int FILL_WINDOW = 16;

    public NodeSettings {
        agent = Map.copyOf(agent);
    }

    /** Transfers under way at once, at most. */
    public int slots() {
        return Math.max(depth, FILL_WINDOW);
    }
}
