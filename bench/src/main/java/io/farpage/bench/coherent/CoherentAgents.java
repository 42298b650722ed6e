package io.farpage.bench.coherent;

import io.farpage.agent.control.guest.GuestRequest;
import io.farpage.bench.baseline.RdmaPort;
import io.farpage.bench.cluster.AgentClient;
import io.farpage.bench.cluster.AgentFlags;
import io.farpage.bench.cluster.AgentProcess;
import io.farpage.bench.cluster.Coordinator;
import io.farpage.bench.command.MeasuringCommand;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.guest.command.CommandException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * The homes of all spaces, and the nodes whose agents resolve the faults of members in this process. Members end with
 * the agents, when this process does. Used by one thread.
 */
final class CoherentAgents implements AutoCloseable {
    private static final Duration CALL = Duration.ofSeconds(10);
    private static final Duration END_TIMEOUT = Duration.ofSeconds(60);

    private final CoherentPlan plan;
    private final Path scratch;
    private final List<AgentProcess> nodes = new ArrayList<>();
    private final List<AgentProcess> homes = new ArrayList<>();
    private final List<AgentClient> clients = new ArrayList<>();
    private final String backing;

    /** Starts them and creates the spaces. */
    CoherentAgents(CoherentPlan plan, MeasuringCommand.Running running) throws InterruptedException {
        this.plan = plan;
        this.scratch = running.children().scratch();
        Coordinator coordinator = running.coordinator();
        for (int i = 0; i < CoherentPlan.NODES; i++) {
            nodes.add(start(running, "coherent node " + (i + 1), i));
        }
        for (int i = 0; i < plan.given().replicas; i++) {
            homes.add(start(running, "coherent home " + (i + 1), CoherentPlan.NODES + i));
        }
        for (AgentProcess node : nodes) {
            clients.add(new AgentClient(node.awaitPort()));
        }
        this.backing = homes.getFirst().backing();
        List<String> ids = homeIds().subList(0, plan.given().replicas);
        coordinator.awaitActive(ids);
        try (CoordinatorClient maker = new CoordinatorClient(URI.create(coordinator.url()), CALL)) {
            for (Memory memory : Memory.values()) {
                SpaceRequest request = new SpaceRequest(
                        memory.space(),
                        memory.bytes(plan),
                        OptionalInt.empty(),
                        Optional.of(memory.isCoherent() ? ids : ids.subList(0, 1)));
                maker.createSpace(
                        memory.isCoherent() ? request.asCoherent().withReplicas(plan.given().replicas) : request);
            }
        } catch (CoordinatorException e) {
            throw new CommandException("the spaces are not created: " + e.getMessage(), e);
        }
    }

    private static List<String> homeIds() {
        return List.of(AgentFlags.HOME, AgentFlags.SECOND_HOME);
    }

    private AgentProcess start(MeasuringCommand.Running running, String name, int agent) {
        AgentFlags flags = new AgentFlags(
                running.coordinator().url(),
                plan.rdma().isPresent() ? "rdma" : "tcp",
                plan.idle(),
                plan.homeBytes(),
                plan.rdma().map(RdmaPort::settings).orElse(Map.of()));
        boolean isHome = agent >= CoherentPlan.NODES;
        Map<String, String> settings =
                isHome ? flags.home(plan.responderCpu(agent)) : flags.node(plan.shardCpu(agent), CoherentPlan.STAGING);
        settings.put(
                "node.id", isHome ? homeIds().get(agent - CoherentPlan.NODES) : AgentFlags.NODE + "-" + (agent + 1));
        // Here the shard of a home answers, too, and members answer the home.
        settings.put("shard.idle", plan.idle().label());
        settings.put("shard.cpu", Integer.toString(plan.shardCpu(agent)));
        settings.put("tcp.responder_idle", plan.idle().label());
        settings.put("tcp.responder_cpu", Integer.toString(plan.responderCpu(agent)));
        settings.put("pool.staging", Long.toString(CoherentPlan.STAGING));
        return AgentProcess.start(running.children(), name, settings);
    }

    /**
     * A member or guest at a node.
     *
     * @param prefetch pages that one fetch may bring
     */
    Member begin(Memory memory, int node, int prefetch) throws InterruptedException {
        Path socket = scratch.resolve(memory.space() + "-" + node + ".sock");
        clients.get(node)
                .attach(
                        memory.space(),
                        new GuestRequest(
                                socket.toString(),
                                OptionalLong.empty(),
                                OptionalInt.empty(),
                                Optional.empty(),
                                OptionalInt.empty(),
                                memory.local(plan),
                                OptionalInt.of(prefetch),
                                Optional.of(false),
                                Optional.empty(),
                                Optional.empty(),
                                Optional.empty(),
                                Optional.empty(),
                                Optional.empty(),
                                Optional.empty(),
                                Optional.empty(),
                                Optional.empty(),
                                Optional.empty()));
        return Member.begin(socket, memory.bytes(plan));
    }

    /** Ends a guest, and waits until its pages are home. */
    void end(Memory memory, int node, Member member) throws InterruptedException {
        member.close();
        if (clients.get(node).awaitEnd(memory.space(), END_TIMEOUT).isEmpty()) {
            throw new CommandException("the guest of %s has not ended after %d s: %s"
                    .formatted(
                            memory.space(),
                            END_TIMEOUT.toSeconds(),
                            nodes.get(node).child().lastWords()));
        }
    }

    /** What the pages of the homes are made of. */
    String backing() {
        return backing;
    }

    /**
     * Ids of the homes, by which rounds are judged. The agents of nodes use up their budget of real-time priority and
     * then preempt each other, in some rounds more than in others.
     */
    List<Long> judged() {
        return homes.stream().map(home -> home.child().pid()).toList();
    }

    @Override
    public void close() {
        clients.forEach(AgentClient::close);
    }
}
