package io.farpage.bench.clone;

import io.farpage.agent.control.guest.GuestRequest;
import io.farpage.agent.control.guest.GuestStatus;
import io.farpage.bench.baseline.FaultToucher;
import io.farpage.bench.cluster.AgentClient;
import io.farpage.bench.cluster.AgentFlags;
import io.farpage.bench.cluster.AgentPair;
import io.farpage.bench.cluster.AgentProcess;
import io.farpage.bench.command.MeasuringCommand;
import io.farpage.bench.process.Children;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.guest.command.CommandException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** The home of the snapshots, and the node on which the clones are. Used by one thread. */
final class CloneAgents implements AutoCloseable {
    private static final Duration CALL = Duration.ofSeconds(60);
    private static final Duration END_TIMEOUT = Duration.ofSeconds(60);
    private static final long LOOK_MILLIS = 5;

    private final ClonePlan plan;
    private final Children children;
    private final AgentProcess node;
    private final AgentPair agents;
    private final AgentClient client;
    private final CoordinatorClient coordinator;
    private final String backing;
    private int made;

    /** A clone that is attached, and whose VMM may hand its memory over. */
    record Attached(String name, FaultToucher.Handed memory, Duration attaching) {}

    CloneAgents(MeasuringCommand.Running running, ClonePlan plan) throws InterruptedException {
        this.plan = plan;
        this.children = running.children();
        AgentFlags flags = new AgentFlags(
                running.coordinator().url(), plan.run().transport().label(), plan.idle(), plan.homeBytes(), Map.of());
        AgentProcess home =
                AgentProcess.start(children, "home", flags.home(plan.placement().homeCpu()));
        this.node =
                AgentProcess.start(children, "node", flags.node(plan.placement().handlerCpu(), ClonePlan.STAGING));
        this.agents = new AgentPair(home, node.child());
        this.backing = home.backing();
        this.client = new AgentClient(node.awaitPort());
        this.coordinator =
                new CoordinatorClient(URI.create(running.coordinator().url()), CALL);
        running.coordinator().awaitActive(List.of(AgentFlags.HOME, AgentFlags.NODE));
    }

    /** Makes a snapshot whose first part is written. */
    Snapshot makeSnapshot(long bytes) throws InterruptedException {
        String name = "snapshot-" + Snapshot.label(bytes);
        Snapshot snapshot = new Snapshot(name, bytes, children.scratch().resolve(name + ".image"));
        snapshot.writeImage(plan.pages(), plan.run().seed());
        ask(() -> coordinator.createSpace(SpaceRequest.of(name, bytes).asThin()));
        client.load(name, snapshot.image(), plan.given().memory);
        ask(() -> coordinator.makeSnapshot(name));
        return snapshot;
    }

    @FunctionalInterface
    private interface Request {
        void send() throws CoordinatorException;
    }

    private static void ask(Request request) {
        try {
            request.send();
        } catch (CoordinatorException e) {
            throw new CommandException(String.valueOf(e.getMessage()), e);
        }
    }

    /** Makes a clone of a snapshot and attaches it, in one request. */
    Attached attach(Snapshot snapshot) throws InterruptedException {
        String name = "clone-" + made++;
        Path socket = children.scratch().resolve(name + ".sock");
        long began = System.nanoTime();
        client.attach(name, GuestRequest.at(socket).withCloneOf(snapshot.name()));
        return new Attached(
                name,
                new FaultToucher.Handed(socket, plan.given().backing, snapshot.bytes(), false),
                Duration.ofNanos(System.nanoTime() - began));
    }

    /** Waits for the end of a clone whose VMM has ended, and deletes it. Returns how many pages it has fetched. */
    long delete(Attached clone) throws InterruptedException {
        GuestStatus.Faults faults = client.awaitEnd(clone.name(), END_TIMEOUT)
                .orElseThrow(() -> new CommandException("the agent did not see the end of %s within %d s: %s"
                        .formatted(
                                clone.name(),
                                END_TIMEOUT.toSeconds(),
                                node.child().lastWords())))
                .faults();
        client.detach(clone.name());
        awaitDetached(clone.name());
        ask(() -> coordinator.deleteSpace(clone.name()));
        return faults.fetchedFaults() + faults.prefetchedPages() + faults.hedgedReads();
    }

    /** The agent detaches from the space of a guest that has ended in its own time. */
    private void awaitDetached(String clone) throws InterruptedException {
        long end = System.nanoTime() + END_TIMEOUT.toNanos();
        while (isAttached(clone) && System.nanoTime() - end < 0) {
            Thread.sleep(LOOK_MILLIS);
        }
    }

    private boolean isAttached(String space) {
        try {
            return !coordinator.attachments(space).isEmpty();
        } catch (CoordinatorException e) {
            throw new CommandException(String.valueOf(e.getMessage()), e);
        }
    }

    /** Pages that the node has fetched so far, other than for clones' faults. */
    long fetchedPages() throws InterruptedException {
        return Math.ceilDiv(client.fetchedBytes(), ClonePlan.PAGE_BYTES);
    }

    /** Mounts the snapshots on the node. */
    SnapshotMount mount() throws InterruptedException {
        return SnapshotMount.start(children, node, plan.given().readahead);
    }

    /** What the home's pages are made of. */
    String backing() {
        return backing;
    }

    /** What carries the pages, named as the provider of verbs. */
    String transport() throws InterruptedException {
        return client.transport(AgentFlags.HOME).equals("rdma") ? "ibverbs" : "soft";
    }

    /** Takes both agents off the CPU meanwhile. */
    <T> T whilePaused(AgentPair.Paused<T> work) throws InterruptedException {
        return agents.whilePaused(work);
    }

    @Override
    public void close() {
        agents.resume();
        client.close();
        coordinator.close();
        agents.node().close();
        agents.home().close();
    }
}
