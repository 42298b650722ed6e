package io.farpage.bench.footprint;

import io.farpage.bench.process.Child;
import io.farpage.bench.process.SpokenLines;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** Agents of one other process, which are not measured. Used by one thread. */
final class Peers implements AutoCloseable {
    private static final List<String> HEAP = List.of("-Xms64m", "-Xmx2g");

    private final Child child;
    private final List<String> ids;

    private Peers(Child child, List<String> ids) {
        this.child = child;
        this.ids = ids;
    }

    /**
     * Starts them and waits until they are registered.
     *
     * @param name of each, before its number
     * @param first the number of the first one
     * @param more settings of all of them
     */
    static Peers start(Bench bench, String name, int first, int count, Map<String, String> more)
            throws InterruptedException {
        List<String> ids = IntStream.range(first, first + count)
                .mapToObj(number -> name + "-" + number)
                .toList();
        List<String> arguments = new ArrayList<>(List.of("footprint-peers", "--nodes", String.join(",", ids)));
        Map<String, String> settings = Agent.settings(bench.coordinator().url(), name);
        settings.putAll(more);
        settings.forEach((key, value) -> arguments.addAll(List.of("--set", key + "=" + value)));
        arguments.addAll(
                List.of("--sockets", bench.children().scratch().resolve(name).toString()));
        Child child = bench.children().start(name + "s from " + first, "page-bench", HEAP, arguments, true);
        new SpokenLines(child).next(child.startTimeout());
        bench.coordinator().awaitActive(ids);
        return new Peers(child, ids);
    }

    /** Their nodes' ids. */
    List<String> ids() {
        return ids;
    }

    @Override
    public void close() {
        try {
            child.process().outputWriter().close();
        } catch (IOException gone) {
            // It has ended already.
        }
        child.close();
    }
}
