package io.farpage.it.simulation.world;

import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorUnreachableException;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.it.simulation.engine.Engine;
import io.farpage.it.simulation.engine.Node;
import io.farpage.it.simulation.engine.SimulatedHttp;
import io.farpage.it.simulation.engine.SimulatedStore;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;

/** What goes wrong: one thing after another, at moments that the seed decides, some at the same time. */
final class Faults {
    private static final long SECOND = 1_000_000_000L;
    private static final long MILLISECOND = 1_000_000L;

    /** A home that stands still for no longer answers in time, over a slow link, too. */
    private static final long UNNOTICED = 350 * MILLISECOND;

    /** After so long, agents have had answers of a revision: heartbeats are a second apart. */
    private static final long SEEN = 3 * SECOND;

    /** How late a request or an answer may be. */
    private static final long LATEST = 4 * SECOND;

    private final Scenario scenario;
    private final Engine engine;
    private final Cluster cluster;
    private final Verdicts verdicts;
    private final Variant variant;
    private final Node own;
    private final StandbyFaults standbys;
    /** Draws one number for each fault, so that the others stay as they are when one is left out. */
    private final Random plan;

    private final Set<Integer> omitted = new HashSet<>();
    /** Copies of the coordinator's store, the oldest first. */
    private final List<Backup> copies = new ArrayList<>();

    /** Nodes whose drain was requested without an answer: the request may come after the drain was cancelled. */
    private final Set<String> unanswered = new TreeSet<>();

    private record Backup(long made, SimulatedStore.Copy rows) {}

    /** What is open in the fault that comes next. */
    private Random random;

    private int number;
    private boolean over;
    /** Faults that last. */
    private int open;
    /** Those of them that keep nodes or links from working. */
    private int failing;

    private long failedUntil;
    private long disturbedUntil;
    /** Those of them by which a host dies, its agent is killed, or a space is taken away from it. */
    private int down;

    private long downUntil;
    /** Whether an agent is killed while it takes the memory of the guest that comes next. */
    private boolean killsAtHandoff;

    /** @param options names the faults that are left out, by their numbers ({@code without}) */
    Faults(
            Scenario scenario,
            Engine engine,
            Cluster cluster,
            Verdicts verdicts,
            Variant variant,
            Map<String, String> options) {
        this.scenario = scenario;
        this.engine = engine;
        this.cluster = cluster;
        this.verdicts = verdicts;
        this.variant = variant;
        own = engine.running();
        standbys = new StandbyFaults(this, scenario, engine, cluster, verdicts);
        plan = new Random(engine.random().nextLong());
        random = plan;
        for (String each : options.getOrDefault("without", "").split(",")) {
            if (!each.isBlank()) {
                omitted.add(Integer.parseInt(each.strip()));
            }
        }
    }

    /** Faults so far, those included that were left out. */
    int count() {
        return number;
    }

    /** From {@code low} to {@code high}, both included, small values more often. */
    long between(long low, long high) {
        double part = random.nextDouble();
        return low + (long) ((high - low) * part * part);
    }

    /** From 0 to {@code bound}, which is not included. */
    int below(int bound) {
        return random.nextInt(bound);
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
        if (!unanswered.isEmpty()) {
            engine.pause(LATEST);
            unanswered.forEach(this::cancelDrain);
        }
        SimulatedHttp.faults().lossOneIn = 0;
        SimulatedHttp.faults().lateOneIn = 0;
        SimulatedHttp.faults().twiceOneIn = 0;
    }

    /** Whether no more faults come; what is broken may not be mended yet. */
    boolean areEnding() {
        return over;
    }

    /** Whether no more faults come, and what was broken is mended. */
    boolean areOver() {
        return over && open == 0;
    }

    private void run() {
        while (!over) {
            random = new Random(plan.nextLong());
            engine.pause(between(MILLISECOND, variant.pause()));
            number++;
            if (variant.has(Variant.REBUILD) && !cluster.servesOlder() && !cluster.hasLostStore()) {
                copies.add(new Backup(engine.now(), cluster.copyOfStore()));
            }
            if (!over && !omitted.contains(number)) {
                next();
            }
        }
    }

    void note(String kind, String what) {
        engine.trail().count(kind);
        engine.trail().fault(engine.elapsed(), "fault %d: %s".formatted(number, what));
    }

    <T> T any(List<T> of) {
        return of.get(random.nextInt(of.size()));
    }

    void lasting(String name, long nanos, Runnable mend) {
        open++;
        own.start(name, () -> {
            engine.pause(nanos);
            mend.run();
            open--;
        });
    }

    /** As {@link #lasting}, of what keeps nodes or links from working. */
    void failing(String name, long nanos, Runnable mend) {
        failing++;
        lasting(name, nanos, () -> {
            mend.run();
            failing--;
            failedUntil = engine.now();
            disturbedUntil = failedUntil;
        });
    }

    /** As {@link #failing}, of what replaces an agent by its standby. */
    void replacing(String name, long nanos, Runnable mend) {
        failing++;
        lasting(name, nanos, () -> {
            mend.run();
            failing--;
            failedUntil = engine.now();
        });
    }

    /** As {@link #failing}, of what takes an agent down with its pool. */
    private void down(String name, long nanos, Runnable mend) {
        down++;
        failing(name, nanos, () -> {
            mend.run();
            down--;
            downUntil = engine.now();
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
            case "twice" -> sendTwice();
            case "store" -> failCommits();
            case "clock" -> stepClock();
            case "cut" -> cut();
            case "slow" -> slowDown();
            case "drain" -> drain();
            case Variant.REBUILD -> loseStore();
            case Variant.KEEPER -> restartAgent();
            case Variant.STANDBY -> standbys.next();
            default -> throw new IllegalArgumentException("--faults: " + kind + " is none of " + Variant.KINDS);
        }
    }

    private void standStill() {
        Node process = any(cluster.processes());
        long nanos = between(10 * MILLISECOND, random.nextBoolean() ? UNNOTICED : 7 * SECOND);
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
        long nanos = between(5 * MILLISECOND, 2 * SECOND);
        note("thread stands still", "a thread of %s is about to stand still".formatted(process));
        process.stopThread(1 + random.nextInt(200), nanos);
        verdicts.excuse(process.name(), SECOND + nanos);
        if (process.name().equals("coordinator")) {
            verdicts.excuseCoordinator(SECOND + nanos);
        }
        failing("thread", SECOND + nanos, () -> {});
    }

    void killCoordinator() {
        List<Node> running = cluster.coordinators();
        if (!running.isEmpty()) {
            long nanos = between(10 * MILLISECOND, 3 * SECOND);
            note(
                    "coordinator killed",
                    "the coordinator is killed, and started again after %.3f s".formatted(nanos / 1e9));
            verdicts.excuseCoordinator(nanos);
            Node killed = running.size() > 1 ? any(running) : running.getFirst();
            killed.kill();
            failing("restart", nanos, cluster::startCoordinators);
        }
    }

    /** The coordinator is lost with its store while all agents run, and rebuilt from what they know. */
    private void loseStore() {
        if (cluster.coordinators().isEmpty()
                || cluster.servesOlder()
                || cluster.hasLostStore()
                || down > 0
                || engine.now() - downUntil < 3 * SECOND) {
            return;
        }
        long nanos = between(10 * MILLISECOND, 3 * SECOND);
        long revision = cluster.copyOfStore().revision();
        List<Backup> older = copies.stream()
                .filter(copy -> copy.rows().revision() < revision && engine.now() - copy.made() > SEEN)
                .toList();
        if (older.isEmpty() || random.nextBoolean()) {
            rebuildAfter(nanos);
        } else {
            serveOlder(any(older), nanos);
        }
    }

    /**
     * The coordinator is started on a backup. No agent may obey it. Then another one is rebuilt. The scenario sends the
     * first one no request.
     */
    private void serveOlder(Backup older, long nanos) {
        long served = between(SECOND / 10, 8 * SECOND);
        note(
                "older copy of the store",
                "a coordinator serves a copy of its store that is %.3f s old, for %.3f s"
                        .formatted((engine.now() - older.made()) / 1e9, served / 1e9));
        verdicts.excuseCoordinator(served);
        SimulatedHttp.faults().refuse(engine.running(), "coordinator");
        cluster.serveOlder(older.rows());
        failing("older", served, () -> {
            SimulatedHttp.faults().refuseNone();
            rebuildAfter(nanos);
        });
    }

    private void rebuildAfter(long nanos) {
        note(
                "coordinator's store lost",
                "the coordinator and its store are lost; another is rebuilt after %.3f s".formatted(nanos / 1e9));
        verdicts.excuseCoordinator(nanos);
        copies.clear(); // A coordinator that is rebuilt has another cluster id, which agents compare first.
        cluster.loseStore();
        failing("rebuild", nanos, () -> {
            cluster.startCoordinators();
            scenario.await("the coordinator is rebuilt", 60, () -> {
                verdicts.excuseCoordinator(0);
                return !cluster.hasLostStore();
            });
        });
    }

    private void loseRequests() {
        long nanos = between(SECOND / 10, 5 * SECOND);
        note("requests and answers lost", "requests and answers are lost for %.3f s".formatted(nanos / 1e9));
        SimulatedHttp.faults().lossOneIn = 3 + random.nextInt(20);
        verdicts.excuseCoordinator(nanos);
        failing("http", nanos, () -> SimulatedHttp.faults().lossOneIn = 0);
    }

    private void delayRequests() {
        long nanos = between(SECOND / 10, 5 * SECOND);
        note("requests and answers late", "requests and answers are late for %.3f s".formatted(nanos / 1e9));
        SimulatedHttp.faults().lateOneIn = 1 + random.nextInt(10);
        SimulatedHttp.faults().lateNanos = between(MILLISECOND, LATEST);
        verdicts.excuseCoordinator(nanos);
        failing("late", nanos, () -> SimulatedHttp.faults().lateOneIn = 0);
    }

    private void sendTwice() {
        long nanos = between(SECOND / 10, 5 * SECOND);
        note("requests sent twice", "requests are sent twice for %.3f s".formatted(nanos / 1e9));
        SimulatedHttp.faults().twiceOneIn = 1 + random.nextInt(10);
        lasting("twice", nanos, () -> SimulatedHttp.faults().twiceOneIn = 0);
    }

    private void failCommits() {
        long nanos = between(SECOND / 10, 5 * SECOND);
        boolean late = random.nextBoolean();
        note("store fails", "commits %s for %.3f s".formatted(late ? "are late" : "fail", nanos / 1e9));
        if (late) {
            SimulatedStore.faults().lateNanos = between(10 * MILLISECOND, SECOND);
        } else {
            SimulatedStore.faults().failsOneIn = 1 + random.nextInt(6);
        }
        verdicts.excuseCoordinator(nanos);
        failing("store", nanos, () -> {
            SimulatedStore.faults().lateNanos = 0;
            SimulatedStore.faults().failsOneIn = 0;
        });
    }

    /** No reason for anything: what lasts goes by the monotonic clock. */
    private void stepClock() {
        Node process = any(cluster.processes());
        long nanos = between(MILLISECOND, 86_400 * SECOND) * (random.nextBoolean() ? 1 : -1);
        note("clock stepped", "the wall clock of %s is stepped by %.3f s".formatted(process, nanos / 1e9));
        process.stepClock(nanos);
    }

    private void cut() {
        Cluster.Host from = any(cluster.hosts());
        Cluster.Host to = any(cluster.hosts());
        if (from != to) {
            long nanos = between(10 * MILLISECOND, 5 * SECOND);
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
        Cluster.Host only = any(cluster.hosts());
        List<Cluster.Host> to = random.nextBoolean() || only == from ? cluster.hosts() : List.of(only);
        long nanos = between(SECOND / 10, 8 * SECOND);
        long most = between(MILLISECOND, 80 * MILLISECOND);
        note(
                "link slow in one direction",
                "what goes from %s to %s is late by up to %.3f s, for %.3f s"
                        .formatted(from.id(), to.size() > 1 ? "the others" : only.id(), most / 1e9, nanos / 1e9));
        to.forEach(host -> cluster.fabric().delay(from.address(), host.address(), most));
        lasting("slow", nanos, () -> to.forEach(host -> cluster.fabric().hasten(from.address(), host.address())));
    }

    private void drain() {
        String node = any(cluster.hosts()).id();
        long nanos = between(SECOND / 10, 10 * SECOND);
        note("node drained", "%s is drained for %.3f s".formatted(node, nanos / 1e9));
        try {
            var _ = scenario.operator().client().drain(node);
        } catch (CoordinatorUnreachableException e) {
            engine.trail().note(engine.elapsed(), "no answer to that: " + e.getMessage());
            unanswered.add(node);
        } catch (CoordinatorException e) {
            engine.trail().note(engine.elapsed(), "that is refused: " + e.getMessage());
        }
        lasting("drain", nanos, () -> cancelDrain(node));
    }

    private void cancelDrain(String node) {
        while (true) {
            try {
                scenario.operator().client().cancelDrain(node);
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
        if (!scenario.operator().isSpare(host) || isFailing() || scenario.isInUse(host.id())) {
            return;
        }
        long nanos = between(50 * MILLISECOND, 8 * SECOND);
        if (!scenario.operator().kill(host)) {
            return;
        }
        verdicts.excuse(host.id(), nanos);
        note(
                "agent killed",
                "%s is killed, its pool is gone; started again after %.3f s".formatted(host.id(), nanos / 1e9));
        down("restart", nanos, () -> cluster.start(host));
    }

    /** An agent is killed while its host goes on: its successor gets the pool, and the guests, from the keeper. */
    private void restartAgent() {
        if (random.nextInt(3) == 0) {
            killsAtHandoff = true;
            return;
        }
        List<Cluster.Host> candidates = new ArrayList<>(cluster.hosts());
        candidates.removeIf(host -> !host.runs() || !scenario.isSettled(host.id()));
        if (candidates.isEmpty()) {
            return;
        }
        restartAgent(any(candidates), between(10 * MILLISECOND, 4 * SECOND));
    }

    /** Kills the agent of a host, unless a guest is taken away from it, or is not served. */
    void restartAgent(Cluster.Host host, long nanos) {
        if (!host.runs() || !scenario.isSettled(host.id()) || !scenario.areServed(host)) {
            return;
        }
        boolean isWarm = variant.has(Variant.STANDBY) && standbys.isWarm(host);
        if (!scenario.isSettled(host.id()) || !scenario.operator().killAgent(host)) {
            return;
        }
        restart(host, nanos, isWarm);
    }

    /** A guest is about to hand its memory over to an agent, which may be killed while it takes it. */
    void beforeHandoff(String on) {
        Cluster.Host host = cluster.host(on);
        if (!killsAtHandoff || over || !host.runs() || !scenario.isSettled(on) || !scenario.areServed(host)) {
            return;
        }
        Optional<Incarnation> incarnation = scenario.operator().incarnation(host);
        if (incarnation.isEmpty()) {
            return;
        }
        killsAtHandoff = false;
        Node process = host.process();
        open++;
        engine.running().start("kill", () -> {
            engine.pause(engine.between(0, 2 * MILLISECOND));
            if (host.process() == process && scenario.operator().killAgent(host, incarnation.get())) {
                restart(host, engine.between(10 * MILLISECOND, 4 * SECOND), false);
            }
            open--;
        });
    }

    private void restart(Cluster.Host host, long nanos, boolean isWarm) {
        verdicts.excuse(host.id(), nanos);
        verdicts.excuseDropsBy(host.id(), nanos);
        note(
                scenario.isBeingLeft(host.id())
                        ? "agent killed that a guest leaves"
                        : scenario.isBeingEntered(host.id())
                                ? "agent killed that a guest comes to"
                                : "agent killed, and its pool kept",
                "the agent of %s is killed; started again after %.3f s".formatted(host.id(), nanos / 1e9));
        if (variant.has(Variant.STANDBY)) {
            standbys.takenOver(host, nanos, isWarm, 0);
            return;
        }
        failing("restart", nanos, () -> {
            cluster.start(host);
            scenario.await("the guests of " + host.id() + " are served again", 60, () -> {
                verdicts.excuse(host.id(), 0);
                return scenario.areServed(host);
            });
        });
    }

    /** What a guest does to its host keeps a node from working, until {@link #mended}. */
    void failed() {
        down++;
        failing++;
        open++;
    }

    void mended() {
        down--;
        downUntil = engine.now();
        failing--;
        open--;
        failedUntil = engine.now();
        disturbedUntil = failedUntil;
    }

    /** Whether no fault lasts, and none has just ended. */
    boolean areAway() {
        return open == 0 && !isFailing();
    }

    /** Those faults that keep nodes or links from working now. */
    int failures() {
        return failing;
    }

    /** Whether none but takeovers by standbys has been for so long that requests may have been lost by it. */
    boolean isMended() {
        return engine.now() - disturbedUntil >= 8 * SECOND;
    }

    /** Whether something fails now, or has just failed, so that homes may be about to be dropped. */
    boolean isFailing() {
        return failing > 0 || engine.now() - failedUntil < 3 * SECOND;
    }
}
