package io.farpage.bench.agents;

import io.farpage.coordinator.cluster.Attachments;
import io.farpage.coordinator.cluster.EventFilter;
import io.farpage.coordinator.cluster.Heat;
import io.farpage.coordinator.cluster.Ledger;
import io.farpage.coordinator.cluster.Membership;
import io.farpage.coordinator.cluster.Spaces;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Attempt;
import io.farpage.coordinator.model.Event;
import io.farpage.coordinator.model.EventBatch;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Registration;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.rest.Json;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;

/**
 * The coordinator's own classes under virtual time, in one thread, with the requests that agents make of them. The
 * agents of {@link Links#MESH} act as those did that followed all nodes without filters: each event wakes each of them,
 * and after an event of a node each reads all nodes. What all of them ask for alike is made once and counted as often
 * as it is asked for.
 */
final class Simulation {
    private static final Duration LEASE = Duration.ofSeconds(15);
    private static final Duration HEARTBEAT = Duration.ofSeconds(5);
    private static final int EVENTS_RETAINED = 100_000;
    private static final long SPACE_BYTES = 1L << 30;
    private static final int NODES_TO_A_SPACE = 10;

    private final Links mode;
    private final Random random;
    private final VirtualTime time = new VirtualTime();
    private final SimulatedStore store = new SimulatedStore();
    private final Map<Cause, Cost> costs = new EnumMap<>(Cause.class);
    private final List<Agent> agents = new ArrayList<>();
    private Ledger ledger;
    private Membership membership;
    private io.farpage.coordinator.cluster.Links links;
    private Spaces spaces;
    private Cost now = new Cost();
    private boolean isMeasured;

    /** What happens. */
    enum Cause {
        JOIN,
        CHANGE,
        ATTACH,
        FAILURE,
        RESTART
    }

    /**
     * What the events of one cause have cost: the requests of all agents, the bytes of the answers, and the CPU of the
     * coordinator's classes.
     */
    static final class Cost {
        long events;
        long requests;
        long bytes;
        long cpuNanos;
    }

    private static final class Agent {
        final String id;
        final Registration registration = Documents.registration();
        final Set<String> follows = new HashSet<>();
        final Set<String> followers = new HashSet<>();

        Agent(String id) {
            this.id = id;
        }
    }

    private Simulation(Links mode, long seed) {
        this.mode = mode;
        this.random = new Random(seed);
        for (Cause cause : Cause.values()) {
            costs.put(cause, new Cost());
        }
        start();
    }

    private void start() {
        ledger = new Ledger(store, EVENTS_RETAINED, nanos -> {});
        membership = new Membership(ledger, time, LEASE, HEARTBEAT);
        links = new io.farpage.coordinator.cluster.Links(ledger);
        spaces = new Spaces(ledger, time, new Heat(System::nanoTime), new Spaces.Options(false, 100));
    }

    /**
     * Simulates a cluster of {@code agents} agents with one space per ten agents, and then events of each cause.
     *
     * @param events number of events of each cause, except restarts: one restart is simulated
     */
    static Map<Cause, Cost> run(int agents, Links mode, int events, long seed) {
        Simulation simulation = new Simulation(mode, seed);
        simulation.grow(agents);
        for (int i = 0; i < events; i++) {
            simulation.measured(Cause.JOIN, simulation::join);
            simulation.measured(Cause.CHANGE, simulation::change);
            simulation.measured(Cause.ATTACH, simulation::attach);
            simulation.measured(Cause.FAILURE, simulation::fail);
        }
        simulation.measured(Cause.RESTART, simulation::restart);
        return simulation.costs;
    }

    /**
     * Bytes of heap of the coordinator's state and the simulated store with {@code agents} nodes and one space per ten
     * nodes.
     */
    static long heapBytes(int agents, long seed) {
        Runtime runtime = Runtime.getRuntime();
        runtime.gc();
        long before = runtime.totalMemory() - runtime.freeMemory();
        Simulation simulation = new Simulation(Links.DEMAND, seed);
        simulation.grow(agents);
        runtime.gc();
        long after = runtime.totalMemory() - runtime.freeMemory();
        if (simulation.agents.size() != agents) {
            throw new IllegalStateException("the cluster has not grown to " + agents);
        }
        return after - before;
    }

    private void grow(int count) {
        for (int i = 0; i < count; i++) {
            join();
            if (i % NODES_TO_A_SPACE == NODES_TO_A_SPACE - 1) {
                attach();
            }
        }
    }

    private void measured(Cause cause, Runnable event) {
        now = costs.getOrDefault(cause, now);
        isMeasured = true;
        long before = cpu();
        event.run();
        isMeasured = false;
        now.cpuNanos += cpu() - before;
        now.events++;
        now = new Cost();
    }

    private static long cpu() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    private Agent agent(String id) {
        return agents.get(Integer.parseInt(id.substring(id.indexOf('-') + 1)));
    }

    private Agent any() {
        return agents.get(random.nextInt(agents.size()));
    }

    private void join() {
        long seen = ledger.events().index();
        Agent agent = new Agent("node-%05d".formatted(agents.size()));
        agents.add(agent);
        answer(membership.register(agent.id, agent.registration.withStatus(NodeStatus.ACTIVE)));
        resync(agent, 1);
        tell(seen, agent);
        if (mode == Links.MESH) {
            // Each pair agrees on a link with two offers. All other agents are notified of each offer.
            count(2L * (agents.size() - 1) * (1 + agents.size()), 200);
        }
    }

    private void change() {
        long seen = ledger.events().index();
        Agent agent = any();
        NodeStatus other = random.nextBoolean() ? NodeStatus.LEAVING : NodeStatus.ACTIVE;
        answer(membership.register(agent.id, agent.registration.withStatus(other)));
        answer(membership.register(agent.id, agent.registration.withStatus(NodeStatus.ACTIVE)));
        tell(seen, agent);
    }

    private void attach() {
        long seen = ledger.events().index();
        Agent agent = any();
        String name = "space-%06d".formatted(ledger.state().spaces().size());
        answer(spaces.create(SpaceRequest.of(name, SPACE_BYTES)));
        answer(new Attachments(ledger, time)
                .attach(name, agent.id, new AttachRequest(agent.registration.incarnation(), AttachMode.EXCLUSIVE)));
        Set<String> homes = new TreeSet<>();
        for (Extent extent : ledger.state().extentsOf(ledger.state().space(name).orElseThrow())) {
            extent.targets().map(ExtentHome::node).forEach(homes::add);
        }
        homes.remove(agent.id);
        tell(seen, agent);
        if (mode == Links.DEMAND) {
            homes.forEach(home -> link(agent, agent(home)));
        }
    }

    /** The agent asks for the home, offers, and the home answers. */
    private void link(Agent agent, Agent home) {
        if (!agent.follows.add(home.id)) {
            return;
        }
        home.followers.add(agent.id);
        home.follows.add(agent.id);
        agent.followers.add(home.id);
        offer(agent, home, Optional.empty());
        offer(home, agent, Optional.of(new Attempt(1)));
    }

    private void offer(Agent from, Agent to, Optional<Attempt> answers) {
        long seen = ledger.events().index();
        answer(membership.node(to.id).orElseThrow());
        answer(links.publish(
                from.id,
                to.id,
                Documents.offer(
                        from.registration.incarnation(), to.registration.incarnation(), new Attempt(1), answers)));
        poll(seen, to, 1);
        answer(links.endpoint(from.id, to.id));
    }

    /** The lease of an agent runs out, those of the others are renewed; then it comes back. */
    private void fail() {
        Agent failing = any();
        time.advance(LEASE.minus(HEARTBEAT));
        long heartbeats = cpu();
        for (Agent agent : agents) {
            if (agent != failing) {
                membership.heartbeat(agent.id, agent.registration.incarnation());
            }
        }
        // They come whether or not a node fails.
        now.cpuNanos -= cpu() - heartbeats;
        time.advance(HEARTBEAT.plusSeconds(1));
        long seen = ledger.events().index();
        if (!membership.expire().equals(List.of(failing.id))) {
            throw new IllegalStateException("not " + failing.id + " alone has failed");
        }
        tell(seen, failing);
        long seenFailed = ledger.events().index();
        answer(membership.heartbeat(failing.id, failing.registration.incarnation()));
        tell(seenFailed, failing);
    }

    /**
     * Another coordinator begins with the store; all agents publish again what it does not know, and read what concerns
     * them.
     */
    private void restart() {
        start();
        for (Agent agent : agents) {
            answer(membership.register(agent.id, agent.registration));
        }
        if (mode == Links.MESH) {
            resync(agents.getFirst(), agents.size());
        } else {
            agents.forEach(agent -> resync(agent, 1));
        }
    }

    /** An agent reads all state that it needs. */
    private void resync(Agent agent, int times) {
        if (mode == Links.MESH && !isMeasured) {
            return;
        }
        if (mode == Links.MESH) {
            count(times, size(membership.nodes()));
            return;
        }
        answer(links.offers(agent.id));
        for (String peer : agent.follows) {
            answer(membership.node(peer).orElseThrow());
        }
    }

    /** The watchers of the events after an index get them, and ask for what they have to ask for. */
    private void tell(long seen, Agent subject) {
        if (!isMeasured) {
            return;
        }
        Set<String> woken = new TreeSet<>(subject.followers);
        woken.add(subject.id);
        boolean everyone = mode == Links.MESH;
        for (Event event : after(seen, EventFilter.ALL).events()) {
            event.node().ifPresent(woken::add);
            event.peer().ifPresent(woken::add);
            everyone |= event.kind() == EventKind.NODE_FAILED || event.kind() == EventKind.NODE_REMOVED;
        }
        if (mode == Links.MESH) {
            count(agents.size(), size(after(seen, EventFilter.ALL)));
            count(agents.size(), size(membership.nodes()));
            return;
        }
        if (everyone) {
            agents.forEach(agent -> poll(seen, agent, 1));
        } else {
            woken.forEach(id -> poll(seen, agent(id), 1));
        }
        for (String follower : subject.followers) {
            if (!follower.equals(subject.id)) {
                answer(membership.node(subject.id).orElseThrow());
            }
        }
    }

    private EventBatch after(long seen, EventFilter filter) {
        try {
            return ledger.events().after(seen, Duration.ZERO, filter);
        } catch (InterruptedException e) {
            throw new IllegalStateException("a poll that does not wait was interrupted", e);
        }
    }

    private void poll(long seen, Agent agent, int times) {
        EventBatch batch = after(seen, new EventFilter(Optional.of(agent.id), Optional.of(agent.follows)));
        if (!batch.events().isEmpty()) {
            count(times, size(batch));
        }
    }

    private void answer(Object body) {
        count(1, size(body));
    }

    private void count(long requests, long bytesOfEach) {
        now.requests += requests;
        now.bytes += requests * bytesOfEach;
    }

    private static long size(Object body) {
        return Json.STRICT.writeValueAsBytes(body).length;
    }
}
