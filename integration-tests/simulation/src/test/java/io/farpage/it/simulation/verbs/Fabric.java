package io.farpage.it.simulation.verbs;

import io.farpage.it.simulation.engine.Engine;
import io.farpage.it.simulation.engine.Node;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;

/** The network between devices. Each direction between two devices may be cut or slow. */
public final class Fabric {
    static final long LEAST_NANOS = 1_500;
    static final long MOST_NANOS = 40_000;

    private final Map<String, SimulatedDevice> devices = new HashMap<>();
    private final Set<Direction> cuts = new HashSet<>();
    /** How much longer than usual something may take, by direction. */
    private final Map<Direction, Long> slow = new HashMap<>();

    private long transfers;
    private Consumer<Refusal> onRefusal = _ -> {};

    /**
     * A request that a device has refused for its key.
     *
     * @param home that refuses it
     * @param by who sent it
     * @param isOfPull whether it is a READ with a key for reading alone
     * @param reason what is wrong with the key, for messages
     */
    public record Refusal(Node home, Node by, boolean isWrite, boolean isOfPull, String reason) {}

    /** Tells of each request that is refused. */
    public void onRefusal(Consumer<Refusal> task) {
        onRefusal = task;
    }

    void refused(Refusal refusal) {
        onRefusal.accept(refusal);
    }

    /** The process of an address whose WRITE a home has executed last. */
    private final Map<Writes, Node> writers = new HashMap<>();
    /** Those that had executed WRITEs before another process of their address. */
    private final Map<Node, Set<Node>> replaced = new HashMap<>();

    private record Writes(Node home, String by) {}

    /** A home has executed a WRITE: a process of a node that another one has replaced writes no more. */
    void written(Node home, Node by) {
        Node before = writers.put(new Writes(home, by.address()), by);
        Set<Node> ended = replaced.computeIfAbsent(home, _ -> new HashSet<>());
        if (before != null && before != by) {
            ended.add(before);
        }
        if (ended.contains(by)) {
            Engine.get().fail("%s executes a WRITE of %s by a process that was replaced".formatted(home, by));
        }
    }

    private record Direction(String from, String to) {}

    void add(SimulatedDevice device) {
        devices.put(device.node().address(), device);
    }

    /** The device that has an address, if its process runs. */
    Optional<SimulatedDevice> find(String address) {
        return Optional.ofNullable(devices.get(address))
                .filter(device -> !device.isClosed() && !device.node().isDead());
    }

    /** Loses everything in one direction, until it is mended. */
    public void cut(String from, String to) {
        cuts.add(new Direction(from, to));
    }

    public void mend(String from, String to) {
        cuts.remove(new Direction(from, to));
    }

    /** Makes everything in one direction late by up to so long, until it is {@link #hasten hastened}. */
    public void delay(String from, String to, long mostNanos) {
        slow.put(new Direction(from, to), mostNanos);
    }

    public void hasten(String from, String to) {
        slow.remove(new Direction(from, to));
    }

    /** The pool that the process of an address has, as its device knows it. */
    public Optional<ExportedFrames> framesOf(String address) {
        return find(address).flatMap(SimulatedDevice::frames);
    }

    boolean isCut(Node from, String to) {
        return cuts.contains(new Direction(from.address(), to));
    }

    boolean isCut(String from, Node to) {
        return cuts.contains(new Direction(from, to.address()));
    }

    long delay(String from, String to) {
        Engine engine = Engine.get();
        long usual = engine.between(LEAST_NANOS, engine.oneIn(200) ? 50 * MOST_NANOS : MOST_NANOS);
        return usual + engine.between(0, slow.getOrDefault(new Direction(from, to), 0L));
    }

    void carried() {
        transfers++;
    }

    /** READs and WRITEs that were executed. */
    public long transfers() {
        return transfers;
    }
}
