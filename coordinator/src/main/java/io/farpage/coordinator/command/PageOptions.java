package io.farpage.coordinator.command;

import io.farpage.coordinator.model.NodeFilter;
import io.farpage.coordinator.model.NodeStatus;
import java.io.PrintWriter;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Options of the commands that list one page of what may be a long list. */
final class PageOptions {

    @Option(names = "--prefix", paramLabel = "TEXT", description = "Only those whose name begins with it.")
    private String prefix = "";

    @Option(
            names = "--after",
            paramLabel = "NAME",
            description = "Only those after it: the last one of the page before.")
    private String after = "";

    @Option(names = "--limit", paramLabel = "COUNT", description = "At most COUNT (default: ${DEFAULT-VALUE}).")
    private int limit = 1_000;

    PageOptions() {}

    NodeFilter filter(@Nullable NodeStatus status, boolean attention) {
        return new NodeFilter(Optional.ofNullable(status), attention, prefix, after, limit);
    }

    /** Whether a name that is not in the coordinator's list belongs to the first page. */
    boolean isOnFirstPage(String name) {
        return after.isEmpty() && name.startsWith(prefix);
    }

    /** Says how to get the next page if a page is full. */
    <T> void printMore(PrintWriter out, List<T> page, Function<T, String> name) {
        if (page.size() == limit && limit > 0) {
            out.printf("there may be more: --after %s%n", name.apply(page.getLast()));
            out.flush();
        }
    }
}
