package io.farpage.it.harness;

import static io.farpage.it.deadlines.Deadlines.await;

import io.farpage.coordinator.client.Allegiance;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.tls.Credentials;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Three coordinators that share an etcd cluster of three members, each process on a host of its own, and agents on this
 * one. Parts of it fail on command. One thread.
 */
public final class SharedCluster implements AutoCloseable {
    private static final Duration TIMEOUT = Deadlines.LONG.multipliedBy(3);
    private static final List<String> MEMBERS = List.of("e1", "e2", "e3");
    private static final List<String> COORDINATORS = List.of("c1", "c2", "c3");
    private static final Path ROOT =
            Path.of(System.getProperty("farpage.root", "..")).toAbsolutePath().normalize();
    private static final int PORT = 7400;

    private final Path directory;
    private final Namespaces hosts;
    private final Map<String, EtcdProcess> members = new LinkedHashMap<>();
    private final Map<String, List<ChildJvm>> coordinators = new LinkedHashMap<>();
    private final Map<String, Rest> rests = new LinkedHashMap<>();
    private final Map<String, AgentProcess> agents = new LinkedHashMap<>();
    private final List<Runnable> ends = new ArrayList<>();
    private Optional<CoordinatorClient> client = Optional.empty();

    /** Starts it, with agents of these names. */
    public SharedCluster(Path directory, String... nodes) {
        this.directory = directory;
        this.hosts = new Namespaces();
        try {
            MEMBERS.forEach(hosts::add);
            COORDINATORS.forEach(hosts::add);
            String all = MEMBERS.stream()
                    .map(name -> name + "=" + EtcdProcess.peer(hosts.address(name)))
                    .collect(Collectors.joining(","));
            MEMBERS.forEach(name -> members.put(name, new EtcdProcess(hosts, name, all, directory)));
            members.values().forEach(EtcdProcess::launch);
            awaitEtcd();
            COORDINATORS.forEach(name -> launch(name));
            COORDINATORS.forEach(name -> rests.put(name, new Rest(url(name))));
            CoordinatorClient made =
                    new CoordinatorClient(urls(), Duration.ofSeconds(10), new Allegiance(), Credentials.NONE);
            client = Optional.of(made);
            awaitLeader();
            String bases = urls().stream().map(URI::toString).collect(Collectors.joining(","));
            for (String node : nodes) {
                agents.put(
                        node,
                        AgentProcess.launch(
                                node,
                                URI.create("http://replaced"),
                                directory.resolve(node + ".port"),
                                Map.of("coordinator.url", bases)));
            }
            agents.values().forEach(AgentProcess::awaitListening);
            awaitLinks();
        } catch (RuntimeException | Error e) {
            System.err.println(describe());
            close();
            throw e;
        }
    }

    /** Why this cannot be on this machine; empty if it can. */
    public static Optional<String> missing() {
        return EtcdProcess.missing()
                .or(Namespaces::cannotMake)
                .or(() -> Files.isDirectory(ROOT.resolve("target/farpage/lib-etcd"))
                        ? Optional.empty()
                        : Optional.of("target/farpage/lib-etcd does not exist; make build assembles it"));
    }

    private void launch(String name, String... options) {
        List<String> command =
                new ArrayList<>(List.of(ROOT.resolve("bin/coordinator").toString(), "run"));
        command.addAll(List.of(options));
        Map.of(
                        "store.kind",
                        "etcd",
                        "store.etcd.endpoints",
                        members.values().stream().map(EtcdProcess::url).collect(Collectors.joining(",")),
                        "store.directory",
                        directory.resolve(name).toString(),
                        "server.listen",
                        hosts.address(name) + ":" + PORT,
                        "insecure",
                        "true",
                        "lease.heartbeat_interval",
                        "1s")
                .forEach((key, value) -> command.addAll(List.of("-D", key + "=" + value)));
        coordinators
                .computeIfAbsent(name, _ -> new ArrayList<>())
                .add(ChildJvm.launch(
                        name,
                        hosts.on(name, command),
                        Map.of("FARPAGE_JAVA_OPTS", "-Xms16m -Xmx128m -XX:TieredStopAtLevel=1"),
                        directory));
    }

    private URI url(String name) {
        return URI.create("http://" + hosts.address(name) + ":" + PORT);
    }

    /** Where the coordinators are. */
    public List<URI> urls() {
        return COORDINATORS.stream().map(this::url).toList();
    }

    /** A client of all coordinators. */
    public CoordinatorClient client() {
        return client.orElseThrow();
    }

    /** The agent of a node. */
    public AgentProcess agent(String node) {
        return Optional.ofNullable(agents.get(node)).orElseThrow();
    }

    private ChildJvm coordinator(String name) {
        return Optional.ofNullable(coordinators.get(name)).orElseThrow().getLast();
    }

    private EtcdProcess member(String name) {
        return Optional.ofNullable(members.get(name)).orElseThrow();
    }

    /** Who leads; empty if no coordinator says that it does. */
    public Optional<String> leader() {
        return COORDINATORS.stream()
                .filter(name -> health(name, "role").equals(Optional.of("leader")))
                .findFirst();
    }

    private Optional<String> health(String name, String detail) {
        try {
            return Optional.of(Optional.ofNullable(rests.get(name))
                    .orElseThrow()
                    .get("/health")
                    .json()
                    .path("details")
                    .path(detail)
                    .asString(""));
        } catch (RuntimeException away) {
            return Optional.empty();
        }
    }

    /** Kills all coordinators and deletes what etcd has. */
    public void loseStore() {
        COORDINATORS.forEach(name -> coordinator(name).kill());
        member(awaitEtcd()).deleteAll();
    }

    /** Starts a coordinator with {@code --rebuild}, which serves once all nodes have reported, and then the others. */
    public void rebuild() {
        launch(COORDINATORS.getFirst(), "--rebuild", "--expect", String.join(",", agents.keySet()));
        awaitLeader();
        others(COORDINATORS, COORDINATORS.getFirst()).forEach(name -> launch(name));
    }

    /** Has something happen to the parts that play a role at this moment. */
    public void begin(Trouble trouble, int choice) {
        String leader = awaitLeader();
        String other = others(COORDINATORS, leader).get(choice % 2);
        String etcdLeader = awaitEtcd();
        String otherMember = others(MEMBERS, etcdLeader).get(choice % 2);
        switch (trouble) {
            case KILL_LEADER -> kill(leader);
            case STOP_LEADER -> stop(coordinator(leader));
            case KILL_FOLLOWER -> kill(other);
            case STOP_FOLLOWER -> stop(coordinator(other));
            case KILL_ETCD_LEADER -> killMember(etcdLeader);
            case STOP_ETCD_LEADER -> stop(member(etcdLeader).process());
            case KILL_ETCD_FOLLOWER -> killMember(otherMember);
            case STOP_ETCD_FOLLOWER -> stop(member(otherMember).process());
            case CUT_LEADER_FROM_ETCD -> MEMBERS.forEach(member -> cut(leader, member));
            case CUT_LEADER_FROM_AGENTS -> cut(leader, Namespaces.TEST);
            case CUT_ETCD_FOLLOWER -> others(MEMBERS, otherMember).forEach(member -> cut(otherMember, member));
            case CUT_ETCD_LEADER -> others(MEMBERS, etcdLeader).forEach(member -> cut(etcdLeader, member));
            case ISOLATE_ETCD_LEADER -> {
                others(MEMBERS, etcdLeader).forEach(member -> cut(etcdLeader, member));
                COORDINATORS.forEach(coordinator -> cut(etcdLeader, coordinator));
            }
        }
    }

    private static List<String> others(List<String> all, String one) {
        return all.stream().filter(name -> !name.equals(one)).toList();
    }

    private void kill(String coordinator) {
        coordinator(coordinator).kill();
        ends.add(() -> launch(coordinator));
    }

    private void killMember(String name) {
        member(name).process().kill();
        ends.add(() -> member(name).launch());
    }

    private void stop(ChildJvm process) {
        process.stop();
        ends.add(process::resume);
    }

    private void cut(String one, String other) {
        hosts.cut(one, other);
        ends.add(() -> hosts.heal(one, other));
    }

    /** Ends what has begun. */
    public void end() {
        ends.forEach(Runnable::run);
        ends.clear();
    }

    /** Waits until all members of etcd agree on a leader, and returns it. */
    private String awaitEtcd() {
        return await("etcd has a leader", TIMEOUT)
                .pollInterval(Duration.ofMillis(50))
                .until(
                        () -> {
                            List<String> leading = new ArrayList<>();
                            for (EtcdProcess member : members.values()) {
                                Optional<Boolean> leads = member.leads();
                                if (leads.isEmpty()) {
                                    return "";
                                }
                                if (leads.get()) {
                                    leading.add(member.host());
                                }
                            }
                            return leading.size() == 1 ? leading.getFirst() : "";
                        },
                        name -> !name.isEmpty());
    }

    private String awaitLeader() {
        return await("a coordinator leads", TIMEOUT)
                .pollInterval(Duration.ofMillis(50))
                .until(this::leader, Optional::isPresent)
                .orElseThrow();
    }

    /**
     * Waits until every process does its part: etcd has one leader, one coordinator leads and the others follow it, and
     * all nodes are active.
     */
    public void awaitWhole() {
        awaitEtcd();
        await("one coordinator leads and the others name it", TIMEOUT)
                .pollInterval(Duration.ofMillis(50))
                .until(() -> {
                    Optional<String> leader = leader().map(name -> url(name).toString());
                    return leader.isPresent()
                            && COORDINATORS.stream()
                                    .allMatch(name -> health(name, "leader").equals(leader));
                });
        await("all nodes active", TIMEOUT)
                .ignoreExceptions()
                .until(() -> client().nodes().stream().allMatch(node -> node.status() == NodeStatus.ACTIVE));
    }

    private void awaitLinks() {
        await("all links up", TIMEOUT)
                .pollInterval(Duration.ofMillis(50))
                .until(() -> agents.values().stream()
                        .allMatch(from ->
                                agents.values().stream().allMatch(to -> from == to || from.isLinkedTo(to.node()))));
    }

    /** Nodes that some coordinator took to have failed. */
    public List<String> expiries() {
        List<String> log = coordinators.values().stream()
                .flatMap(List::stream)
                .flatMap(life -> life.err().lines())
                .toList();
        if (log.stream().noneMatch(line -> line.contains("leads in term"))) {
            throw new IllegalStateException("the coordinators' log is not here, so no expiry would be found");
        }
        return log.stream().filter(line -> line.contains("missed its lease")).toList();
    }

    /** The output of all processes, for a failure. */
    public String describe() {
        StringBuilder all = new StringBuilder();
        members.values().forEach(member -> all.append(member.describe()).append('\n'));
        coordinators
                .values()
                .forEach(lives ->
                        lives.forEach(life -> all.append(life.describe()).append('\n')));
        agents.values().forEach(agent -> all.append(agent.process().describe()).append('\n'));
        return all.toString();
    }

    @Override
    public void close() {
        client.ifPresent(CoordinatorClient::close);
        agents.values().forEach(AgentProcess::close);
        coordinators.values().forEach(lives -> lives.forEach(ChildJvm::close));
        members.values().forEach(EtcdProcess::close);
        hosts.close();
    }
}
