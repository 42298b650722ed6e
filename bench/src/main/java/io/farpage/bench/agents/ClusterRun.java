package io.farpage.bench.agents;

import io.farpage.bench.process.Child;
import io.farpage.bench.process.Children;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorUnreachableException;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Event;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.guest.command.CommandException;
import java.io.PrintStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;

/** One run: the agents join, keep their leases, change, link and fail. Used by one thread. */
final class ClusterRun {
    private static final Duration SETTLED = Duration.ofSeconds(60);
    private static final Duration POLL = Duration.ofMillis(20);
    private static final Duration BETWEEN_CHANGES = Duration.ofMillis(200);
    private static final Duration DEADLINE = Duration.ofSeconds(30);
    private static final int ATTEMPTS = 10;
    private static final long SPACE_BYTES = 1L << 30;
    private static final PrintStream OUT = System.out;

    private final Plan plan;
    private final HttpClient http = HttpClient.newHttpClient();
    private final List<HttpClient> hosts = Hosts.clients();
    private final Measures measures = new Measures();
    private final List<PretendedAgent> agents = new ArrayList<>();
    private final String url;
    private final long pid;
    private final Probe probe;

    /** When a node's change was acknowledged, or its lease ran out, by {@link System#nanoTime()}; by node. */
    private final Map<String, Long> changed = new ConcurrentHashMap<>();

    private final Map<String, Long> expired = new ConcurrentHashMap<>();
    private final AtomicInteger told = new AtomicInteger();

    /**
     * What is done.
     *
     * @param agents how many
     * @param steady how long they only keep their leases
     * @param attachments spaces that are made and attached, one after another
     * @param changes of nodes, one after another
     * @param failures agents that fall silent at once
     */
    record Plan(
            int agents,
            Links links,
            Duration steady,
            int attachments,
            int changes,
            int failures,
            Duration lease,
            Duration joinTimeout) {}

    private ClusterRun(Plan plan, String url, long pid, Children children) throws InterruptedException {
        this.plan = plan;
        this.url = url;
        this.pid = pid;
        this.probe = Probe.start(children, url, hosts.getFirst(), measures);
    }

    /** Whether all was measured. */
    static boolean measure(Plan plan, Children children) throws InterruptedException {
        Path portFile = children.scratch().resolve("cluster.port");
        List<String> arguments = new ArrayList<>(List.of("run", "--port-file", portFile.toString()));
        // All agents come from a few addresses, which a cluster's do not.
        Map.of(
                        "server.listen", "127.0.0.1:0",
                        "store.directory", children.scratch().resolve("cluster").toString(),
                        "lease.duration", plan.lease().toMillis() + "ms",
                        "lease.heartbeat_interval", plan.lease().toMillis() / 3 + "ms",
                        "limits.address_rate", "1000000",
                        "limits.address_burst", "1000000",
                        "limits.address_connections", "100000",
                        "events.retained", "100000")
                .forEach((key, value) -> arguments.addAll(List.of("--set", key + "=" + value)));
        try (Child child = children.start("coordinator of many agents", "coordinator", arguments, false)) {
            String url = "http://127.0.0.1:" + child.awaitFile(portFile);
            ClusterRun run = new ClusterRun(plan, url, child.process().pid(), children);
            try {
                return run.measure();
            } finally {
                run.close();
            }
        }
    }

    private boolean measure() throws InterruptedException {
        OUT.printf("%d agents, links %s%n", plan.agents(), plan.links().name().toLowerCase(Locale.ROOT));
        if (!join()) {
            return false;
        }
        settle();
        keepLeases();
        attach();
        report();
        change();
        fail();
        OUT.printf("requests that failed: %d%n", measures.refused.get());
        return true;
    }

    private boolean join() throws InterruptedException {
        CoordinatorUse before = use();
        long start = System.nanoTime();
        for (int i = 0; i < plan.agents(); i++) {
            PretendedAgent agent = new PretendedAgent(
                    "node-%05d".formatted(i),
                    new CoordinatorClient(URI.create(url), DEADLINE, hosts.get(i % hosts.size())),
                    plan.links(),
                    measures,
                    this::received);
            agents.add(agent);
            agent.start();
        }
        boolean all = await(plan.joinTimeout(), () -> agents.stream().allMatch(this::hasJoined));
        double seconds = (System.nanoTime() - start) / 1e9;
        if (!all) {
            OUT.printf(
                    "join: only %d of %d after %.1f s%n",
                    agents.stream().filter(this::hasJoined).count(), plan.agents(), seconds);
        } else {
            OUT.printf("join: %.1f s%n", seconds);
        }
        print("join", use().since(before), plan.agents(), "agent");
        printHeartbeats("join");
        return all;
    }

    /** In a mesh, with a link to every other agent. */
    private boolean hasJoined(PretendedAgent agent) {
        return agent.isReady() && (plan.links() == Links.DEMAND || agent.links().up() == plan.agents() - 1);
    }

    /** What agents ask for once they have joined comes in the next seconds, and each of them once. */
    private void settle() throws InterruptedException {
        Thread.sleep(plan.lease().dividedBy(3));
        printHeartbeats("settle");
    }

    private void keepLeases() throws InterruptedException {
        printUse("steady");
    }

    /**
     * Each agent reports figures of a guest; the coordinator leaves out those of agents that have attached no space.
     */
    private void report() throws InterruptedException {
        agents.forEach(PretendedAgent::reportFigures);
        Thread.sleep(plan.lease().dividedBy(3));
        measures.heartbeats.take();
        measures.control.take();
        printUse("figures");
    }

    private void printUse(String phase) throws InterruptedException {
        CoordinatorUse before = use();
        Thread.sleep(plan.steady());
        CoordinatorUse after = use();
        CoordinatorUse.Since since = after.since(before);
        OUT.printf(
                "%s: %.2f cores, %.0f requests/s, %.1f kB/s, %d MiB resident%n",
                phase,
                since.cores(),
                since.requests() / since.seconds(),
                since.writtenBytes() / since.seconds() / 1e3,
                after.residentBytes() >> 20);
        printHeartbeats(phase);
    }

    /** Heartbeats of one phase, and what tells the coordinator's delay from that of this JVM and the CPUs. */
    private void printHeartbeats(String phase) throws InterruptedException {
        OUT.printf("%s: heartbeat %s%n", phase, Measures.text(measures.heartbeats.take()));
        OUT.printf("%s: heartbeat of a process of its own %s%n", phase, probe.takeHeartbeats());
        OUT.printf("%s: request to a handler that does nothing %s%n", phase, Measures.text(measures.control.take()));
    }

    /** An agent makes a space wherever the coordinator finds room for it, attaches it, and links with the homes. */
    private void attach() throws InterruptedException {
        CoordinatorUse before = use();
        for (int i = 0; i < plan.attachments(); i++) {
            PretendedAgent agent = agents.get(i % agents.size());
            long start = System.nanoTime();
            Set<String> homes = attachInTime(agent, "space-%05d".formatted(i));
            if (await(SETTLED, () -> homes.stream().allMatch(agent.links()::isUp))) {
                measures.attachments.record(System.nanoTime() - start);
            }
        }
        print("attach", use().since(before), plan.attachments(), "space");
        OUT.printf(
                "attach until the links to the homes are agreed on: %s%n", Measures.text(measures.attachments.take()));
        printHeartbeats("attach");
    }

    /** A coordinator that has no room for the connection is asked again, as page agents do. */
    private static Set<String> attachInTime(PretendedAgent agent, String space) throws InterruptedException {
        for (int attempt = 1; ; attempt++) {
            try {
                return attach(agent, space);
            } catch (CoordinatorUnreachableException e) {
                if (attempt == ATTEMPTS) {
                    throw new CommandException(
                            "space %s could not be attached: %s".formatted(space, e.getMessage()), e);
                }
                Thread.sleep(BETWEEN_CHANGES);
            }
        }
    }

    private static Set<String> attach(PretendedAgent agent, String space) throws CoordinatorUnreachableException {
        try {
            if (agent.coordinator().space(space).isEmpty()) {
                agent.coordinator().createSpace(SpaceRequest.of(space, SPACE_BYTES));
            }
            agent.coordinator()
                    .attach(
                            space,
                            agent.id(),
                            new AttachRequest(agent.registration().incarnation(), AttachMode.EXCLUSIVE));
            SpaceExtents known = agent.coordinator().extents(space).orElseThrow();
            agent.attached(known.space().id());
            Set<String> homes = known.extents().stream()
                    .flatMap(Extent::targets)
                    .map(ExtentHome::node)
                    .filter(home -> !home.equals(agent.id()))
                    .collect(Collectors.toSet());
            homes.forEach(agent::want);
            return homes;
        } catch (CoordinatorUnreachableException e) {
            throw e;
        } catch (CoordinatorException e) {
            throw new CommandException("space %s could not be attached: %s".formatted(space, e.getMessage()), e);
        }
    }

    private void change() throws InterruptedException {
        measures.changes.take();
        measures.events.take();
        CoordinatorUse before = use();
        for (int i = 0; i < plan.changes(); i++) {
            PretendedAgent agent = agents.get(i % agents.size());
            try {
                changed.put(agent.id(), System.nanoTime());
                agent.change(i / agents.size() % 2 == 0 ? NodeStatus.LEAVING : NodeStatus.ACTIVE);
            } catch (CoordinatorException e) {
                throw new CommandException("node " + agent.id() + " could not change: " + e.getMessage(), e);
            }
            Thread.sleep(BETWEEN_CHANGES);
        }
        print("change", use().since(before), plan.changes(), "change");
        OUT.printf("change: %s%n", Measures.text(measures.changes.take()));
        OUT.printf("change until told: %s%n", Measures.text(measures.events.take()));
        printHeartbeats("change");
    }

    private void fail() throws InterruptedException {
        List<PretendedAgent> failing = agents.subList(agents.size() - plan.failures(), agents.size());
        failing.forEach(PretendedAgent::fallSilent);
        // A heartbeat may be under way.
        Thread.sleep(BETWEEN_CHANGES);
        failing.forEach(agent ->
                expired.put(agent.id(), agent.renewedNanos() + plan.lease().toNanos()));
        int expected = plan.failures() * plan.agents();
        boolean all = await(plan.lease().plus(SETTLED), () -> told.get() >= expected);
        OUT.printf("failure known after the lease: %s%n", Measures.text(measures.failures.take()));
        if (!all) {
            OUT.printf("failures told: only %d of %d%n", told.get(), expected);
        }
        printHeartbeats("failure");
    }

    private void received(String agent, Event event) {
        String node = event.node().orElse("");
        if (event.kind() == EventKind.NODE_CHANGED && changed.containsKey(node)) {
            measures.events.record(System.nanoTime() - changed.getOrDefault(node, 0L));
        } else if (event.kind() == EventKind.NODE_FAILED && expired.containsKey(node)) {
            measures.failures.record(System.nanoTime() - expired.getOrDefault(node, 0L));
            told.incrementAndGet();
        }
    }

    private static void print(String what, CoordinatorUse.Since since, int count, String each) {
        if (count > 0) {
            OUT.printf(
                    "%s: per %s %.1f requests, %.1f kB, %.2f ms of CPU; %.2f cores%n",
                    what,
                    each,
                    (double) since.requests() / count,
                    since.writtenBytes() / 1e3 / count,
                    since.cpuSeconds() * 1e3 / count,
                    since.cores());
        }
    }

    private CoordinatorUse use() throws InterruptedException {
        return CoordinatorUse.read(http, url, pid);
    }

    private static boolean await(Duration limit, BooleanSupplier condition) throws InterruptedException {
        long deadline = System.nanoTime() + limit.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - deadline > 0) {
                return false;
            }
            Thread.sleep(POLL);
        }
        return true;
    }

    private void close() {
        agents.parallelStream().forEach(PretendedAgent::close);
        probe.close();
        hosts.forEach(HttpClient::shutdownNow);
        http.close();
    }
}
