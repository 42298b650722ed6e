package io.farpage.it.simulation.world;

import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.it.simulation.engine.Engine;
import io.farpage.it.simulation.engine.Node;
import io.farpage.it.simulation.engine.SimulatedHttp;
import java.util.ArrayList;
import java.util.List;

/** What goes wrong: one thing after another, at moments that the seed decides, some at the same time. */
final class Faults {
    private static final long SECOND = 1_000_000_000L;
    private static final long MILLISECOND = 1_000_000L;

    /** A home that stands still for no longer answers in time, over a slow link, too. */
    private static final long UNNOTICED = 350 * MILLISECOND;

    private final Scenario scenario;
    private final Engine engine;
    private final Cluster cluster;
    private final Verdicts verdicts;
    private final Variant variant;
    private boolean over;
    /** Faults that last. */
    private int open;
    /** Those of them that keep nodes or links from working. */
    private int failing;

    private long failedUntil;

    Faults(Scenario scenario, Engine engine, Cluster cluster, Verdicts verdicts, Variant variant) {
        this.scenario = scenario;
        this.engine = engine;
        this.cluster = cluster;
        this.verdicts = verdicts;
        this.variant = variant;
    }

    void begin() {
        if (!variant.spontaneous().isEmpty()) {
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
            engine.pause(engine.between(MILLISECOND, variant.pause()));
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

    /** As {@link #lasting}, of what keeps nodes or links from working. */
    private void failing(String name, long nanos, Runnable mend) {
        failing++;
        lasting(name, nanos, () -> {
            mend.run();
            failing--;
            failedUntil = engine.now();
        });
    }

    private void next() {
        String kind = any(variant.spontaneous());
        switch (kind) {
            case "still" -> standStill();
            case "thread" -> stopThread();
            case "kill" -> kill();
            case "coordinator" -> killCoordinator();
            case "http" -> loseRequests();
            case "late" -> delayRequests();
            case "cut" -> cut();
            case "slow" -> slowDown();
            case "drain" -> drain();
            default -> throw new IllegalArgumentException("--faults: " + kind + " is none of " + Variant.KINDS);
        }
    }

    private void standStill() {
        Node process = any(cluster.processes());
        long nanos = engine.between(10 * MILLISECOND, engine.oneIn(2) ? UNNOTICED : 7 * SECOND);
        note("process stands still", "%s stands still %.3f s".formatted(process, nanos / 1e9));
        process.standStill(nanos);
        if (nanos > UNNOTICED) {
            verdicts.excuse(process.name(), nanos);
        }
        if (process.name().equals("coordinator")) {
            // Its leases run that much longer, so it has no excuse for those.
            verdicts.excuseDrops(nanos);
        }
        failing("still", nanos, () -> {});
    }

    private void stopThread() {
        Node process = any(cluster.processes());
        long nanos = engine.between(5 * MILLISECOND, 2 * SECOND);
        note("thread stands still", "a thread of %s is about to stand still".formatted(process));
        process.stopThread(1 + engine.random().nextInt(200), nanos);
        verdicts.excuse(process.name(), SECOND + nanos);
        if (process.name().equals("coordinator")) {
            verdicts.excuseCoordinator(SECOND + nanos);
        }
        failing("thread", SECOND + nanos, () -> {});
    }

    private void killCoordinator() {
        if (cluster.coordinator().isPresent()) {
            long nanos = engine.between(10 * MILLISECOND, 3 * SECOND);
            note("coordinator killed", "the coordinator is killed, and started again after %.3f s".formatted(nanos / 1e9));
            verdicts.excuseCoordinator(nanos);
            cluster.coordinator().get().kill();
            failing("restart", nanos, cluster::startCoordinator);
        }
    }

    private void loseRequests() {
        long nanos = engine.between(SECOND / 10, 5 * SECOND);
        note("requests and answers lost", "requests and answers are lost for %.3f s".formatted(nanos / 1e9));
        SimulatedHttp.faults().lossOneIn = 3 + engine.random().nextInt(20);
        verdicts.excuseCoordinator(nanos);
        failing("http", nanos, () -> SimulatedHttp.faults().lossOneIn = 0);
    }

    private void delayRequests() {
        long nanos = engine.between(SECOND / 10, 5 * SECOND);
        note("requests and answers late", "requests and answers are late for %.3f s".formatted(nanos / 1e9));
        SimulatedHttp.faults().lateOneIn = 1 + engine.random().nextInt(10);
        SimulatedHttp.faults().lateNanos = engine.between(MILLISECOND, 4 * SECOND);
        verdicts.excuseCoordinator(nanos);
        failing("late", nanos, () -> SimulatedHttp.faults().lateOneIn = 0);
    }

    private void cut() {
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
            failing("cut", nanos, () -> cluster.fabric().mend(from.address(), to.address()));
        }
    }

    /** No reason to drop a home: it answers within the time that a home has. */
    private void slowDown() {
        Cluster.Host from = any(cluster.hosts());
        Cluster.Host to = any(cluster.hosts());
        if (from != to) {
            long nanos = engine.between(SECOND / 10, 8 * SECOND);
            long most = engine.between(MILLISECOND, 80 * MILLISECOND);
            note(
                    "link slow in one direction",
                    "what goes from %s to %s is late by up to %.3f s, for %.3f s"
                            .formatted(from.id(), to.id(), most / 1e9, nanos / 1e9));
            cluster.fabric().delay(from.address(), to.address(), most);
            lasting("slow", nanos, () -> cluster.fabric().hasten(from.address(), to.address()));
        }
    }

    private void drain() {
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

    /** An agent without a guest is killed, if all pages have another home that works. */
    private void kill() {
        List<Cluster.Host> candidates = new ArrayList<>(cluster.hosts());
        candidates.removeIf(host -> !host.runs() || scenario.isInUse(host.id()));
        if (candidates.isEmpty() || isFailing()) {
            return;
        }
        Cluster.Host host = any(candidates);
        if (!scenario.isSpare(host) || isFailing() || scenario.isInUse(host.id())) {
            return;
        }
        long nanos = engine.between(50 * MILLISECOND, 8 * SECOND);
        if (!scenario.kill(host)) {
            return;
        }
        verdicts.excuse(host.id(), nanos);
        note(
                "agent killed",
                "%s is killed, its pool is gone; started again after %.3f s".formatted(host.id(), nanos / 1e9));
        failing("restart", nanos, () -> cluster.start(host));
    }

    /** What a guest does to its host keeps a node from working, until {@link #mended}. */
    void failed() {
        failing++;
        open++;
    }

    void mended() {
        failing--;
        open--;
        failedUntil = engine.now();
    }

    /** Whether something fails now, or has just failed, so that homes may be about to be dropped. */
    boolean isFailing() {
        return failing > 0 || engine.now() - failedUntil < 3 * SECOND;
    }
}
