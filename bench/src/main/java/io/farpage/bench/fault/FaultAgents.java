package io.farpage.bench.fault;

import io.farpage.agent.control.guest.GuestRequest;
import io.farpage.agent.control.guest.GuestStatus;
import io.farpage.bench.baseline.BaselineProcess;
import io.farpage.bench.baseline.FaultToucher;
import io.farpage.bench.cluster.AgentProcess;
import io.farpage.bench.cluster.Coordinator;
import io.farpage.bench.cluster.HomeHealth;
import io.farpage.bench.cluster.Idle;
import io.farpage.bench.process.Children;
import io.farpage.guest.command.CommandException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * A home and the node whose agent resolves the toucher's faults with the home's pages. Each round is a guest of its own of one space, whose
 * pages are all away when it begins. Used by one thread.
 */
final class FaultAgents implements AutoCloseable {
    private static final Duration END_TIMEOUT = Duration.ofSeconds(60);
    /** How an agent says that it could not write back what a guest held when it ended. */
    private static final String NOT_HOME = "is not at its homes";

    private static final long LOOK_MILLIS = 20;

    private final FaultPlan plan;
    private final AgentProcess home;
    private final AgentProcess node;
    private final FaultToucher toucher;
    private final FaultToucher.Setting setting;
    private final String backing;
    private final GuestClient guest;

    /** What a round of the toucher gave, on both sides. */
    record Round(BaselineProcess.Measured measured, GuestStatus agent) {}

    private FaultAgents(
            FaultPlan plan,
            AgentProcess home,
            AgentProcess node,
            FaultToucher toucher,
            FaultToucher.Setting setting,
            String space)
            throws InterruptedException {
        this.plan = plan;
        this.home = home;
        this.node = node;
        this.toucher = toucher;
        this.setting = setting;
        this.backing = HomeHealth.backing(home.awaitPort());
        this.guest = new GuestClient(node.awaitPort(), space);
    }

    /** Starts both and writes known content into every page. */
    static FaultAgents start(
            Children children,
            Coordinator coordinator,
            FaultPlan plan,
            Idle idle,
            FaultPlacement placement,
            FaultToucher toucher)
            throws InterruptedException {
        AgentProcess home = AgentProcess.start(
                children, "home of " + idle.label(), FaultFlags.home(plan, idle, placement, coordinator.url()));
        AgentProcess node = AgentProcess.start(
                children, "node of " + idle.label(), FaultFlags.node(plan, idle, placement, coordinator.url()));
        Path socket = children.scratch().resolve("agent-" + idle.label() + ".sock");
        FaultAgents agents = new FaultAgents(
                plan,
                home,
                node,
                toucher,
                new FaultToucher.Setting(
                        socket, plan.backing(), plan.seed(), placement.toucherCpu(), plan.roundPatience()),
                "bench-" + idle.label());
        agents.fill();
        return agents;
    }

    /** The toucher writes the pages; when it ends, the agent brings them home. That takes memory which the agent can read. */
    private void fill() throws InterruptedException {
        attach(new FaultCase.Side("fill", 1, OptionalLong.empty()));
        toucher.fill(
                new FaultToucher.Setting(
                        setting.socket(), FaultToucher.Backing.MEMFD, setting.seed(), setting.cpu(), setting.timeout()),
                plan.pages());
        GuestStatus end = awaitEnd();
        if (end.detail().contains(NOT_HOME)) {
            throw new CommandException("the pages could not be brought home after they were filled: "
                    + node.child().lastWords());
        }
    }

    private void attach(FaultCase.Side side) throws InterruptedException {
        guest.attach(new GuestRequest(
                setting.socket().toString(),
                OptionalLong.of(plan.bytes()),
                OptionalInt.empty(),
                Optional.of(List.of(FaultFlags.HOME)),
                side.local().isPresent()
                        ? OptionalLong.of(side.local().getAsLong() * FaultPlan.PAGE_BYTES)
                        : OptionalLong.empty(),
                OptionalInt.of(side.prefetch()),
                Optional.of(false),
                Optional.empty(),
                Optional.empty()));
    }

    /** One round: a guest comes, touches its memory and goes. */
    Round run(FaultCase.Side side, FaultToucher.Walk walk) throws InterruptedException {
        attach(side);
        BaselineProcess.Measured measured = toucher.touch(setting, walk);
        return new Round(measured, awaitEnd());
    }

    private GuestStatus awaitEnd() throws InterruptedException {
        long deadline = System.nanoTime() + END_TIMEOUT.toNanos();
        while (System.nanoTime() - deadline < 0) {
            GuestStatus status = guest.status();
            if (status.state().equals("ended")) {
                return status;
            }
            Thread.sleep(LOOK_MILLIS);
        }
        throw new CommandException("the agent did not see the toucher's end within " + END_TIMEOUT.toSeconds() + " s: "
                + node.child().lastWords());
    }

    /** What the home's pages are made of. */
    String backing() {
        return backing;
    }

    /** What carries the pages, named as the provider of verbs. */
    String transport() throws InterruptedException {
        return guest.transport(FaultFlags.HOME).equals("rdma") ? "ibverbs" : "soft";
    }

    /** Takes both off the CPU. */
    void pause() {
        node.child().pause();
        home.child().pause();
    }

    /** Lets both go on. */
    void resume() {
        home.child().resume();
        node.child().resume();
    }

    @Override
    public void close() {
        resume();
        node.close();
        home.close();
    }
}
