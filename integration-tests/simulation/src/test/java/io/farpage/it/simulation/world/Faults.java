package io.farpage.it.simulation.world;

import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.it.simulation.engine.Engine;
import io.farpage.it.simulation.engine.Node;
import io.farpage.it.simulation.engine.SimulatedHttp;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** What goes wrong: one thing after another, at moments that the seed decides, some at the same time. */
final class Faults {
    private static final long SECOND = 1_000_000_000L;
    private static final long MILLISECOND = 1_000_000L;

    private final Scenario scenario;
    private final Engine engine;
    private final Cluster cluster;
    private final Verdicts verdicts;
    private final List<String> kinds;
    private final long pause;
    private boolean over;
    private int open;

    Faults(Scenario scenario, Engine engine, Cluster cluster, Verdicts verdicts, Map<String, String> options) {
        this.scenario = scenario;
        this.engine = engine;
        this.cluster = cluster;
        this.verdicts = verdicts;
        kinds = List.of(options.getOrDefault("faults", "still,kill,coordinator,http,cut,late,drain")
                .split(","));
        pause = (long) (Double.parseDouble(options.getOrDefault("pause", "3")) * SECOND);
    }

    void begin() {
        if (!kinds.equals(List.of("none"))) {
            engine.running().start("faults", this::run);
        }
    }

    /** Stops; what is broken is mended soon. */
    void end() {
        over = true;
        while (open > 0) {
            engine.pause(SECOND / 100);
        }
        SimulatedHttp.faults().lossOneIn = 0;
        SimulatedHttp.faults().lateOneIn = 0;
    }

    private void run() {
        while (!over) {
            engine.pause(engine.between(MILLISECOND, pause));
            if (!over) {
                next();
            }
        }
    }

    private void note(String kind, String what) {
        engine.trail().count(kind);
        engine.trail().note(engine.elapsed(), what);
    }

    private <T> T any(List<T> of) {
        return of.get(engine.random().nextInt(of.size()));
    }

    private void lasting(String name, long nanos, Runnable mend) {
        open++;
        engine.running().start(name, () -> {
            engine.pause(nanos);
            mend.run();
            open--;
        });
    }

    private void next() {
        switch (any(kinds)) {
            case "still" -> {
                Node process = any(cluster.processes());
                long nanos = engine.between(10 * MILLISECOND, 5 * SECOND);
                note("process stands still", "%s stands still %.3f s".formatted(process, nanos / 1e9));
                process.standStill(nanos);
                verdicts.excuse(process.name(), nanos);
                if (process.name().equals("coordinator")) {
                    // Its leases run that much longer, so it has no excuse for those.
                    verdicts.excuseDrops(nanos);
                }
                lasting("still", nanos, () -> {});
            }
            case "kill" -> kill();
            case "coordinator" -> {
                if (cluster.coordinator().isPresent()) {
                    long nanos = engine.between(10 * MILLISECOND, 3 * SECOND);
                    note(
                            "coordinator killed",
                            "the coordinator is killed, and started again after %.3f s".formatted(nanos / 1e9));
                    verdicts.excuseCoordinator(nanos);
                    cluster.coordinator().get().kill();
                    lasting("restart", nanos, cluster::startCoordinator);
                }
            }
            case "http" -> {
                long nanos = engine.between(SECOND / 10, 5 * SECOND);
                note("requests and answers lost", "requests and answers are lost for %.3f s".formatted(nanos / 1e9));
                SimulatedHttp.faults().lossOneIn = 3 + engine.random().nextInt(20);
                verdicts.excuseCoordinator(nanos);
                lasting("http", nanos, () -> SimulatedHttp.faults().lossOneIn = 0);
            }
            case "late" -> {
                long nanos = engine.between(SECOND / 10, 5 * SECOND);
                note("answers late", "answers are late for %.3f s".formatted(nanos / 1e9));
                SimulatedHttp.faults().lateOneIn = 1 + engine.random().nextInt(10);
                SimulatedHttp.faults().lateNanos = engine.between(MILLISECOND, 4 * SECOND);
                verdicts.excuseCoordinator(nanos);
                lasting("late", nanos, () -> SimulatedHttp.faults().lateOneIn = 0);
            }
            case "cut" -> {
                Cluster.Host from = any(cluster.hosts());
                Cluster.Host to = any(cluster.hosts());
                if (from != to) {
                    long nanos = engine.between(10 * MILLISECOND, 5 * SECOND);
                    note(
                            "link cut in one direction",
                            "nothing reaches %s from %s for %.3f s".formatted(to.id(), from.id(), nanos / 1e9));
                    verdicts.excuse(from.id(), nanos);
                    verdicts.excuse(to.id(), nanos);
                    cluster.fabric().cut(from.address(), to.address());
                    lasting("cut", nanos, () -> cluster.fabric().mend(from.address(), to.address()));
                }
            }
            case "drain" -> {
                String node = any(cluster.hosts()).id();
                long nanos = engine.between(SECOND / 10, 10 * SECOND);
                note("node drained", "%s is drained for %.3f s".formatted(node, nanos / 1e9));
                try {
                    var _ = scenario.client().drain(node);
                } catch (CoordinatorException e) {
                    engine.trail().note(engine.elapsed(), "that is refused: " + e.getMessage());
                }
                lasting("drain", nanos, () -> cancelDrain(node));
            }
            default -> throw new IllegalArgumentException("faults are of " + kinds);
        }
    }

    private void cancelDrain(String node) {
        while (true) {
            try {
                scenario.client().cancelDrain(node);
                return;
            } catch (CoordinatorException e) {
                if (e.getMessage().contains("404")) {
                    return;
                }
                engine.pause(SECOND / 10);
            }
        }
    }

    /** An agent without a guest is killed, if all pages have another home. */
    private void kill() {
        List<Cluster.Host> candidates = new ArrayList<>(cluster.hosts());
        candidates.removeIf(host -> !host.runs()
                || scenario.guests().stream().anyMatch(guest -> guest.host().equals(host.id())));
        if (candidates.isEmpty() || open > 0 || !scenario.isWhole() || open > 0) {
            return;
        }
        Cluster.Host host = any(candidates);
        long nanos = engine.between(50 * MILLISECOND, 8 * SECOND);
        if (!scenario.kill(host)) {
            return;
        }
        verdicts.excuse(host.id(), nanos);
        note(
                "agent killed",
                "%s is killed, its pool is gone; started again after %.3f s".formatted(host.id(), nanos / 1e9));
        lasting("restart", nanos, () -> cluster.start(host));
    }
}
