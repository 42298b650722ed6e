package io.farpage.bench.agents;

import io.farpage.bench.agents.Simulation.Cause;
import io.farpage.bench.agents.Simulation.Cost;
import io.farpage.guest.command.CommandException;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Simulations of clusters of several sizes, and the table and chart of what an event costs in each. */
record SimulationSeries(List<Row> rows) {
    private static final double NANOS_PER_MICRO = 1_000;

    /**
     * What one event costs.
     *
     * @param agents in the cluster
     */
    record Row(Links links, int agents, Cause cause, double requests, double bytes, double cpuMicros) {
        String csv() {
            return String.format(
                    Locale.ROOT,
                    "%s,%d,%s,%.1f,%.0f,%.1f",
                    links.name().toLowerCase(Locale.ROOT),
                    agents,
                    cause.name().toLowerCase(Locale.ROOT),
                    requests,
                    bytes,
                    cpuMicros);
        }
    }

    SimulationSeries {
        rows = List.copyOf(rows);
    }

    static SimulationSeries run(List<Integer> sizes, int events, long seed) {
        List<Row> rows = new ArrayList<>();
        // Otherwise the smallest cluster pays for the JVM's start.
        Simulation.run(50, Links.DEMAND, 50, seed);
        for (Links links : Links.values()) {
            for (int agents : sizes) {
                Simulation.run(agents, links, events, seed)
                        .forEach((cause, cost) -> rows.add(row(links, agents, cause, cost)));
            }
        }
        return new SimulationSeries(rows);
    }

    private static Row row(Links links, int agents, Cause cause, Cost cost) {
        double events = Math.max(1, cost.events);
        return new Row(
                links,
                agents,
                cause,
                cost.requests / events,
                cost.bytes / events,
                cost.cpuNanos / NANOS_PER_MICRO / events);
    }

    void print(PrintStream out) {
        out.println("links,agents,event,requests,bytes,cpu_us");
        rows.forEach(row -> out.println(row.csv()));
    }

    void draw(Path file) {
        try {
            Files.writeString(file, SimulationChart.svg(this));
        } catch (IOException e) {
            throw new CommandException("the chart cannot be written to " + file + ": " + e.getMessage(), e);
        }
    }
}
