package io.farpage.cli.local;

import io.farpage.bench.cluster.AgentClient;
import io.farpage.cli.local.StateFolder.Kept;
import io.farpage.coordinator.client.Allegiance;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.NodeFilter;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.guest.command.CommandException;
import io.farpage.pool.hugepages.HugepageReservation;
import io.farpage.pool.hugepages.HugepageSize;
import io.farpage.tls.Credentials;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A coordinator and agents on this host, as processes that outlive this one. */
final class LocalCluster {

    private static final Logger LOG = LoggerFactory.getLogger(LocalCluster.class);

    /** Where the commands of an operator look for a coordinator if they are told nothing. */
    static final int USUAL_PORT = 7400;

    static final String USUAL_URL = "http://127.0.0.1:" + USUAL_PORT;

    private static final Duration START_DEADLINE = Duration.ofMinutes(2);
    private static final Duration CALL_DEADLINE = Duration.ofSeconds(10);

    /** How long a process may take to end after SIGTERM. */
    private static final Duration FAREWELL = Duration.ofSeconds(15);

    private static final Duration AFTER_KILL = Duration.ofSeconds(10);
    private static final Duration POLL = Duration.ofMillis(20);

    private final StateFolder folder;
    private final PrintWriter out;

    LocalCluster(StateFolder folder, PrintWriter out) {
        this.folder = folder;
        this.out = out;
    }

    /** The coordinator of a cluster all of whose processes run; empty otherwise. */
    Optional<String> running() throws IOException {
        Optional<Kept> kept = folder.read();
        Set<String> names =
                Member.of(folder.path()).stream().map(Member::name).collect(Collectors.toCollection(HashSet::new));
        return kept.filter(known -> names.contains(Plan.COORDINATOR)
                        && names.stream()
                                        .filter(name -> !name.equals(Plan.GUEST))
                                        .count()
                                == known.agents() + 1L)
                .flatMap(Kept::url);
    }

    /** Whether a cluster was not ended: processes run, or hugepages are reserved. */
    boolean isLeft() throws IOException {
        return folder.read().isPresent() || !Member.of(folder.path()).isEmpty();
    }

    /** Starts it; returns the URL of the coordinator. If that fails, all is ended, and the logs stay. */
    String start(Plan plan, HostFacts facts) throws IOException, InterruptedException {
        try {
            return startAll(plan, facts);
        } catch (IOException | InterruptedException | RuntimeException e) {
            endProcesses();
            giveHugepagesBack();
            folder.deleteButLogs();
            throw e;
        }
    }

    private String startAll(Plan plan, HostFacts facts) throws IOException, InterruptedException {
        Kept kept = reserve(plan, facts.hugepagesToReserve(plan));
        Processes processes = new Processes(folder.path());
        processes.start(Plan.COORDINATOR, "coordinator", plan.coordinatorArguments(facts.port()));
        Path port = folder.file("coordinator.port");
        processes.await("the coordinator listens", START_DEADLINE, () -> Files.exists(port));
        String url = "http://127.0.0.1:" + Files.readString(port).strip();
        folder.write(kept.withUrl(url));
        for (String name : plan.names()) {
            processes.start(name, "page-agent", plan.agentArguments(name, url));
        }
        try (CoordinatorClient client =
                new CoordinatorClient(URI.create(url), CALL_DEADLINE, new Allegiance(), Credentials.NONE)) {
            processes.await("all agents have registered", START_DEADLINE, () -> active(client) == plan.agents());
        }
        Path inventory = Files.writeString(folder.file("inventory.yaml"), plan.inventory());
        command(io.farpage.coordinator.Main.commandLine(), List.of("up", inventory.toString(), "--coordinator", url));
        if (plan.guestBytes().isPresent()) {
            startGuest(plan, processes);
        }
        return url;
    }

    private Kept reserve(Plan plan, long pages) throws IOException {
        if (pages == 0) {
            return record(plan, 0, "pools of the hugepages that are free");
        }
        HugepageReservation reservation = HugepageReservation.additional(HugepageSize.TWO_MIB, pages);
        long kept = reservation.keep();
        try {
            return record(
                    plan,
                    kept,
                    kept > 0
                            ? "reserved %d hugepages of 2MiB".formatted(kept)
                            : "pools of small pages, unless hugepages are free: " + reservation.description());
        } catch (IOException e) {
            // No record will tell 'down' of them.
            HugepageReservation.giveBack(HugepageSize.TWO_MIB, kept);
            throw e;
        }
    }

    private Kept record(Plan plan, long hugepages, String message) throws IOException {
        Kept kept = new Kept(StateFolder.boot(), hugepages, plan.agents(), Optional.empty());
        folder.write(kept);
        out.println(message);
        out.flush();
        return kept;
    }

    /**
     * Agents that have registered; 0 if the coordinator cannot say, as on a host that is too busy to answer in time.
     */
    private static long active(CoordinatorClient client) {
        try {
            return client.overview(NodeFilter.ALL.withLimit(0)).totals().nodes().getOrDefault(NodeStatus.ACTIVE, 0L);
        } catch (CoordinatorException e) {
            LOG.debug("the coordinator did not answer", e);
            return 0;
        }
    }

    private void startGuest(Plan plan, Processes processes) throws IOException, InterruptedException {
        command(io.farpage.agent.Main.commandLine(), plan.attachArguments());
        processes.start(Plan.GUEST, "page-bench", plan.guestArguments());
        int port = Integer.parseInt(
                Files.readString(folder.file(plan.firstAgent() + ".port")).strip());
        try (AgentClient agent = new AgentClient(port)) {
            processes.await("the guest has handed its memory over", START_DEADLINE, () -> isAttached(agent));
        }
    }

    private static boolean isAttached(AgentClient agent) {
        try {
            return agent.guest(Plan.SPACE).state().equals("attached");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CommandException("interrupted", e);
        }
    }

    private static void command(picocli.CommandLine program, List<String> arguments) {
        if (program.execute(arguments.toArray(String[]::new)) != 0) {
            throw new LocalClusterException(
                    "%s %s failed".formatted(program.getCommandName(), String.join(" ", arguments)));
        }
    }

    /** Ends it and removes all of it, whatever part of it runs still. */
    void end() throws IOException, InterruptedException {
        endProcesses();
        giveHugepagesBack();
        folder.delete();
    }

    /**
     * The guest first, so that its pages can be written to their homes, then the agents, then what they register with.
     */
    private void endProcesses() throws IOException, InterruptedException {
        end(Member.of(folder.path()).stream()
                .filter(member -> member.name().equals(Plan.GUEST))
                .toList());
        end(Member.of(folder.path()).stream()
                .filter(member -> !member.name().equals(Plan.COORDINATOR))
                .toList());
        end(Member.of(folder.path()));
        List<Member> left = Member.of(folder.path());
        if (!left.isEmpty()) {
            throw new LocalClusterException(
                    "processes %s do not end, even after SIGKILL; look at them with ps, then repeat the command"
                            .formatted(left.stream()
                                    .map(member ->
                                            Long.toString(member.process().pid()))
                                    .collect(Collectors.joining(", "))));
        }
    }

    private void end(List<Member> members) throws InterruptedException {
        members.forEach(member -> member.process().destroy());
        awaitEnd(members, FAREWELL);
        for (Member member : members) {
            boolean forced = member.process().isAlive();
            if (forced) {
                member.process().destroyForcibly();
            }
            out.printf(
                    "ended %s, process %d%s%n", member.name(), member.process().pid(), forced ? ", with SIGKILL" : "");
        }
        awaitEnd(members, AFTER_KILL);
        out.flush();
    }

    private static void awaitEnd(List<Member> members, Duration deadline) throws InterruptedException {
        long end = System.nanoTime() + deadline.toNanos();
        while (members.stream().anyMatch(member -> member.process().isAlive()) && System.nanoTime() - end < 0) {
            TimeUnit.NANOSECONDS.sleep(POLL.toNanos());
        }
    }

    private void giveHugepagesBack() throws IOException {
        Optional<Kept> kept = folder.read();
        if (kept.isEmpty()) {
            return;
        }
        long pages = kept.get().hugepages();
        if (pages > 0 && kept.get().boot().equals(StateFolder.boot())) {
            HugepageReservation.giveBack(HugepageSize.TWO_MIB, pages);
            out.printf("gave %d hugepages back%n", pages);
            out.flush();
        }
        folder.write(new Kept(kept.get().boot(), 0, kept.get().agents(), Optional.empty()));
    }
}
