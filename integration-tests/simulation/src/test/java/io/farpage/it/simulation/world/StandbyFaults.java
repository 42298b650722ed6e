package io.farpage.it.simulation.world;

import io.farpage.agent.command.UpgradeRun;
import io.farpage.agent.control.keeper.KeeperState;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.it.simulation.engine.Engine;
import io.farpage.it.simulation.engine.Node;
import io.farpage.it.simulation.engine.SimulatedProcess;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What goes wrong with standbys and with agents that have one, and the upgrades that an operator requests. */
final class StandbyFaults {
    private static final long SECOND = 1_000_000_000L;
    private static final long MILLISECOND = 1_000_000L;
    /** How long a handover may be under way after the operator has got no answer. */
    private static final int LATE = 15;
    /** How long a successor that is warm may take to serve all guests while nothing else fails. */
    private static final long TAKEOVER_NANOS = 5 * SECOND;

    private static final int DEADLINE = 60;

    private final Faults faults;
    private final Scenario scenario;
    private final Engine engine;
    private final Cluster cluster;
    private final Verdicts verdicts;
    private final Node own;
    /** The last upgrade of each host, by its id. */
    private final Map<String, Upgrade> upgrades = new HashMap<>();

    /**
     * An upgrade.
     *
     * @param incarnation of the agent that hands over
     * @param restartNanos after which the host has a standby again
     */
    private record Upgrade(Incarnation incarnation, long restartNanos) {}

    StandbyFaults(Faults faults, Scenario scenario, Engine engine, Cluster cluster, Verdicts verdicts) {
        this.faults = faults;
        this.scenario = scenario;
        this.engine = engine;
        this.cluster = cluster;
        this.verdicts = verdicts;
        own = engine.running();
        cluster.onHandedOver(this::handedOver);
    }

    void next() {
        switch (faults.below(8)) {
            case 0, 1, 2 -> upgrade(false);
            case 3, 4 -> upgrade(true);
            case 5 -> disturbStandby();
            case 6 -> killWithStandby();
            default -> stopAgent();
        }
    }

    private void note(String kind, String what) {
        faults.note(kind, what);
    }

    /** Some takeovers have to do without the coordinator at first. */
    private void perhapsKillCoordinator() {
        if (faults.below(4) == 0) {
            faults.killCoordinator();
        }
    }

    /** @param starts whether the operator starts the successor, which becomes the next one, or takes a standby */
    private void upgrade(boolean starts) {
        Cluster.Host host = faults.any(cluster.hosts());
        Node agent = host.process();
        long restart = faults.between(10 * MILLISECOND, 4 * SECOND);
        boolean hasStandby = !starts || faults.below(2) == 0;
        if (!mayHandOver(host)) {
            return;
        }
        Optional<Incarnation> incarnation = scenario.operator().incarnation(host);
        if (incarnation.isEmpty()) {
            return;
        }
        upgrades.put(host.id(), new Upgrade(incarnation.get(), restart));
        if (!mayHandOver(host) || host.process() != agent) {
            return;
        }
        perhapsKillCoordinator();
        note(
                "upgrade",
                "the agent of %s is requested to hand over to %s"
                        .formatted(host.id(), starts ? "a process that is started" : "its standby"));
        if (!hasStandby) {
            host.standbys().forEach(Node::kill);
        }
        scenario.handingOver(host.id(), true);
        faults.replacing("upgrade", 0, () -> {
            if (starts) {
                upgradeTo(cluster.startProcess(host), host, agent);
            } else {
                request(host, agent);
            }
            scenario.handingOver(host.id(), false);
        });
    }

    private boolean mayHandOver(Cluster.Host host) {
        return host.lives()
                && host.runs()
                && !scenario.isReserved(host.id())
                && !scenario.isHandingOver(host.id())
                && !cluster.hasLostStore()
                && !cluster.servesOlder();
    }

    private void upgradeTo(Node successor, Cluster.Host host, Node agent) {
        SimulatedProcess started = new SimulatedProcess(successor);
        try {
            UpgradeRun.begin(
                    new UpgradeRun.Node() {
                        @Override
                        public KeeperState look() throws IOException {
                            return cluster.look(host);
                        }

                        @Override
                        public boolean handOver() {
                            return request(host, agent);
                        }
                    },
                    started);
            if (started.isDestroyed() && host.process() == successor) {
                engine.fail("an upgrade has ended the agent of " + host.id());
            }
        } catch (IOException | InterruptedException e) {
            engine.trail().note(engine.elapsed(), "the upgrade of %s ends: %s".formatted(host.id(), e));
        }
    }

    boolean isWarm(Cluster.Host host) {
        return standby(host) != 0;
    }

    /** The process that is the agent next; 0 if the keeper names none. */
    private int standby(Cluster.Host host) {
        try {
            return cluster.look(host).standby();
        } catch (IOException e) {
            return 0;
        }
    }

    /** Returns whether the agent hands over, or may do so. */
    private boolean request(Cluster.Host host, Node agent) {
        boolean wasSettled = isQuiet(host);
        int before = standby(host);
        String answer = scenario.operator().handOver(host);
        engine.trail().note(engine.elapsed(), "the agent of %s answers: %s".formatted(host.id(), answer));
        engine.trail()
                .count("handover answered "
                        + answer.replaceAll("(?s)^(\\d+).*", "$1").replaceAll("(?s)^\\D.*", "nothing"));
        if (!answer.startsWith("409")) {
            awaitEnd(host, agent, answer.startsWith("202"));
            return true;
        }
        if (answer.contains("guest-not-kept") && wasSettled && isQuiet(host)) {
            engine.fail("the agent of %s does not hand over, and keeps each guest: %s".formatted(host.id(), answer));
        }
        if (answer.contains("no-standby") && before != 0 && standby(host) == before) {
            engine.fail("the agent of %s does not hand over, and has a warm standby: %s".formatted(host.id(), answer));
        }
        return false;
    }

    private boolean isQuiet(Cluster.Host host) {
        return scenario.isSettled(host.id())
                && !scenario.isBeingLeft(host.id())
                && !scenario.isBeingEntered(host.id())
                && !scenario.mayHaveMember(host.id());
    }

    private void awaitEnd(Cluster.Host host, Node agent, boolean hasBegun) {
        long end = engine.now() + LATE * SECOND;
        while (!agent.isDead() && engine.now() < end) {
            engine.pause(SECOND / 100);
        }
        if (hasBegun && !agent.isDead() && agent.ranSince(end - LATE * SECOND)) {
            engine.fail("the agent of %s has answered that it hands over, and does not".formatted(host.id()));
        }
    }

    /** An agent has ended in favour of its standby. */
    private void handedOver(Cluster.Host host) {
        if (scenario.isAwaiting(host.process())) {
            engine.fail("the agent of %s hands over while it waits for the VMM of a guest".formatted(host.id()));
        }
        Upgrade upgrade = upgrades.get(host.id());
        scenario.operator().ended(host, upgrade.incarnation());
        engine.trail().count("agent handed over");
        takenOver(host, upgrade.restartNanos(), true, 1);
    }

    /**
     * The agent of a host has ended. Its standby, or the process that is started later, serves all its guests.
     *
     * @param isWarm whether a standby was warm
     * @param known failures that end the agent
     */
    void takenOver(Cluster.Host host, long restartNanos, boolean isWarm, int known) {
        verdicts.excuse(host.id(), 0);
        verdicts.excuseDropsBy(host.id(), 0);
        long since = engine.now();
        List<Node> standbys = host.standbys();
        boolean[] restarted = new boolean[1];
        own.start("restart", () -> {
            engine.pause(restartNanos);
            if (host.lives()) {
                cluster.start(host);
            }
            restarted[0] = true;
        });
        boolean[] calm = {faults.failures() <= known && faults.isMended()};
        faults.replacing("takeover", 0, () -> {
            scenario.awaitUnderFaults("the guests of " + host.id() + " are served by a successor", DEADLINE, () -> {
                verdicts.excuse(host.id(), 0);
                verdicts.excuseDropsBy(host.id(), 0);
                calm[0] &= faults.failures() <= known + 1;
                return !host.lives() || (scenario.areServed(host) && host.runs());
            });
            long took = engine.now() - since;
            boolean byStandby = standbys.contains(host.process());
            engine.trail()
                    .note(
                            engine.elapsed(),
                            "the guests of %s are served after %.3f s".formatted(host.id(), took / 1e9));
            if (isWarm && byStandby && calm[0] && took > TAKEOVER_NANOS) {
                engine.fail("the standby of %s serves its guests after %.3f s".formatted(host.id(), took / 1e9));
            }
            while (!restarted[0]) {
                engine.pause(SECOND / 20);
            }
        });
    }

    /** A standby is killed, or stands still; also one that takes over at that moment. */
    private void disturbStandby() {
        Cluster.Host host = faults.any(cluster.hosts());
        List<Node> standbys = host.standbys();
        long nanos = faults.between(10 * MILLISECOND, 10 * SECOND);
        boolean isKilled = faults.below(2) == 0;
        if (standbys.isEmpty()) {
            return;
        }
        Node standby = faults.any(standbys);
        if (isKilled) {
            note("standby killed", "a standby of %s is killed".formatted(host.id()));
            standby.kill();
            faults.lasting("standby", nanos, () -> {
                if (host.lives() && host.runs()) {
                    cluster.start(host);
                }
            });
        } else {
            note("standby stands still", "a standby of %s stands still %.3f s".formatted(host.id(), nanos / 1e9));
            verdicts.excuse(host.id(), nanos);
            verdicts.excuseDropsBy(host.id(), nanos);
            standby.standStill(nanos);
            faults.failing("standby", nanos, () -> {});
        }
    }

    private boolean mayBeKilled(Cluster.Host host) {
        return host.lives() && host.runs() && scenario.isSettled(host.id()) && !scenario.isReserved(host.id());
    }

    /** An agent is killed, and shortly after it a standby, which may be about to adopt its guests. */
    private void killWithStandby() {
        Cluster.Host host = faults.any(cluster.hosts());
        long between = faults.between(0, 300 * MILLISECOND);
        long restart = faults.between(between + 10 * MILLISECOND, 4 * SECOND);
        if (!mayBeKilled(host)
                || !scenario.areServed(host)
                || !mayBeKilled(host)
                || host.standbys().isEmpty()) {
            return;
        }
        Node standby = host.standbys().getLast();
        if (!scenario.operator().killAgent(host)) {
            return;
        }
        note(
                "agent and standby killed",
                "the agent of %s is killed, and its standby %.3f s later".formatted(host.id(), between / 1e9));
        faults.replacing("kill", between, () -> {
            if (scenario.isSettled(host.id()) && !scenario.isReserved(host.id())) {
                standby.kill();
            }
        });
        takenOver(host, restart, false, 1);
        perhapsKillCoordinator();
    }

    /** An agent stands still beside its standby, until it goes on, or its supervisor kills it. */
    private void stopAgent() {
        Cluster.Host host = faults.any(cluster.hosts());
        long nanos = faults.between(SECOND / 2, 10 * SECOND);
        long restart = faults.between(10 * MILLISECOND, 4 * SECOND);
        boolean isKilled = faults.below(2) == 0;
        Node agent = host.process();
        if (!mayBeKilled(host) || !scenario.areServed(host) || !mayBeKilled(host) || host.process() != agent) {
            return;
        }
        note(
                "agent with a standby stands still",
                "the agent of %s stands still %.3f s%s"
                        .formatted(host.id(), nanos / 1e9, isKilled ? ", and is killed" : ""));
        verdicts.excuse(host.id(), nanos);
        verdicts.excuseDropsBy(host.id(), nanos);
        agent.standStill(nanos);
        faults.replacing("still", Math.max(0, nanos - 1), () -> {
            if (isKilled && !agent.isDead() && mayBeKilled(host)) {
                agent.kill();
                takenOver(host, restart, false, 1);
            }
        });
    }
}
