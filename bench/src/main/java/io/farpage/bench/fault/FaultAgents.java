package io.farpage.bench.fault;

import io.farpage.agent.control.guest.GuestRequest;
import io.farpage.agent.control.guest.GuestStatus;
import io.farpage.bench.baseline.BaselineProcess;
import io.farpage.bench.baseline.FaultToucher;
import io.farpage.bench.baseline.StreamingToucher;
import io.farpage.bench.cluster.AgentClient;
import io.farpage.bench.cluster.AgentFlags;
import io.farpage.bench.cluster.AgentPair;
import io.farpage.bench.cluster.AgentProcess;
import io.farpage.bench.cluster.Coordinator;
import io.farpage.bench.cluster.FaultPlacement;
import io.farpage.bench.command.MeasuringCommand;
import io.farpage.bench.process.Child;
import io.farpage.bench.process.Children;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.model.operation.ViewOperations;
import io.farpage.guest.command.CommandException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.stream.Stream;

/**
 * A home, a second one if pages have two, and the node whose agent resolves the toucher's faults with the home's pages.
 * Each round is a guest of its own of one space, whose pages are all away when it begins. Used by one thread.
 */
final class FaultAgents implements AutoCloseable {
    private static final Duration CALL = Duration.ofSeconds(10);
    private static final Duration END_TIMEOUT = Duration.ofSeconds(60);
    /** How an agent says that it could not write back what a guest held when it ended. */
    private static final String NOT_HOME = "is not at its homes";

    static final long STAGING = 16L << 20;

    private final FaultPlan plan;
    private final AgentPair agents;
    private final Optional<AgentProcess> secondHome;
    private final FaultToucher toucher;
    private final Path socket;
    private final FaultToucher.Setting setting;
    private final String backing;
    private final AgentClient client;
    private final List<URI> observed;
    private final String idle;

    /** What a round of the toucher gave, on both sides. */
    record Round(BaselineProcess.Measured measured, GuestStatus agent) {}

    /** Starts them and writes known content into every page. */
    FaultAgents(MeasuringCommand.Running running, FaultPlan plan, FaultScenario scenario, FaultToucher toucher)
            throws InterruptedException {
        Children children = running.children();
        FaultPlacement placement = scenario.placement();
        this.idle = scenario.idle().label();
        AgentFlags flags = new AgentFlags(
                running.coordinator().url(),
                plan.run().transport().label(),
                scenario.idle(),
                plan.homeBytes(),
                seal(children));
        AgentProcess home = AgentProcess.start(children, "home of " + idle, flags.home(placement.homeCpu()));
        this.secondHome = plan.hasSecondHome()
                ? Optional.of(AgentProcess.start(
                        children, "second home of " + idle, flags.secondHome(placement.homeCpu(), plan.storedBytes())))
                : Optional.empty();
        AgentProcess node =
                AgentProcess.start(children, "node of " + idle, flags.node(placement.handlerCpu(), STAGING));
        this.plan = plan;
        this.agents = new AgentPair(home, node.child());
        this.toucher = toucher;
        this.socket = children.scratch().resolve("agent-" + idle + ".sock");
        this.setting = new FaultToucher.Setting(
                new FaultToucher.Handed(socket, plan.given().backing),
                plan.run().seed(),
                OptionalInt.of(placement.toucherCpu()),
                plan.roundTimeout());
        this.backing = home.backing();
        int port = node.awaitPort();
        this.client = new AgentClient(port);
        this.observed = List.of(
                URI.create("http://127.0.0.1:" + port + "/metrics"),
                URI.create("http://127.0.0.1:" + home.awaitPort() + "/metrics"),
                URI.create(running.coordinator().url() + "/metrics"),
                URI.create(running.coordinator().url() + ViewOperations.OF_CLUSTER.path()));
        if (secondHome.isPresent()) {
            secondHome.get().awaitPort();
        }
        running.coordinator()
                .awaitActive(
                        List.of(AgentFlags.HOME, AgentFlags.SECOND_HOME).subList(0, secondHome.isPresent() ? 2 : 1));
        for (FaultSpace space : plan.spaces()) {
            if (space == FaultSpace.COHERENT) {
                createCoherent(running.coordinator());
            }
            fill(space);
        }
    }

    /** An agent makes the other spaces when they are attached. */
    private void createCoherent(Coordinator coordinator) {
        try (CoordinatorClient maker = new CoordinatorClient(URI.create(coordinator.url()), CALL)) {
            maker.createSpace(new SpaceRequest(
                            FaultSpace.COHERENT.name(idle),
                            plan.bytes(),
                            OptionalInt.empty(),
                            Optional.of(List.of(AgentFlags.HOME)))
                    .asCoherent());
        } catch (CoordinatorException e) {
            throw new CommandException("the coherent space is not created: " + e.getMessage());
        }
    }

    /** Where the agents find a key for encrypted spaces, made for this run, and where they keep tags. */
    private static Map<String, String> seal(Children children) {
        Path keys = children.scratch().resolve("keys");
        byte[] random = new byte[32];
        new SecureRandom().nextBytes(random);
        try {
            Files.createDirectories(keys);
            Path key = Files.writeString(
                    keys.resolve("default.key"), HexFormat.of().formatHex(random));
            Files.setPosixFilePermissions(key, PosixFilePermissions.fromString("rw-------"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return Map.of(
                "seal.keys", keys.toString(),
                "seal.directory", children.scratch().resolve("seal").toString());
    }

    /**
     * The toucher writes the pages; when it ends, the agent brings them home. That takes memory which the agent can
     * read.
     */
    private void fill(FaultSpace space) throws InterruptedException {
        attach(space, socket, 1, OptionalLong.empty());
        toucher.fill(setting.with(new FaultToucher.Handed(socket, FaultToucher.Backing.MEMFD)), plan.given().pages);
        GuestStatus end = awaitEnd(space);
        if (end.detail().contains(NOT_HOME)) {
            throw new CommandException("the pages could not be brought home after they were filled: "
                    + agents.node().lastWords());
        }
    }

    private void attach(FaultSpace space, Path from, int prefetch, OptionalLong local) throws InterruptedException {
        client.attach(
                space.name(idle),
                new GuestRequest(
                        from.toString(),
                        OptionalLong.of(space == FaultSpace.LARGE_STREAM ? FaultPlan.LARGE_STREAM_BYTES : plan.bytes()),
                        space == FaultSpace.LARGE_STREAM
                                ? OptionalInt.of(FaultPlan.LARGE_PAGE_BYTES)
                                : OptionalInt.empty(),
                        Optional.of(
                                List.of(AgentFlags.HOME, AgentFlags.SECOND_HOME).subList(0, space.homes())),
                        OptionalInt.of(space.homes()),
                        local.isPresent()
                                ? OptionalLong.of(local.getAsLong() * FaultPlan.PAGE_BYTES)
                                : OptionalLong.empty(),
                        OptionalInt.of(prefetch),
                        Optional.of(false),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty(),
                        space == FaultSpace.ENCRYPTED ? Optional.of(true) : Optional.empty(),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty()));
    }

    /** One round: a guest comes, touches its memory and goes. */
    Round run(FaultCase.Side side, FaultToucher.Walk walk, int toucherCpu) throws InterruptedException {
        attach(side.space(), socket, side.prefetch(), side.local());
        return switch (side.beside()) {
            case NOTHING -> touch(side.space(), walk, toucherCpu);
            case READERS -> {
                try (Observers _ = Observers.begin(observed)) {
                    yield touch(side.space(), walk, toucherCpu);
                }
            }
            case STREAM -> besideStream(FaultSpace.STREAM, () -> touch(side.space(), walk, toucherCpu));
            case LARGE_STREAM -> besideStream(FaultSpace.LARGE_STREAM, () -> touch(side.space(), walk, toucherCpu));
        };
    }

    private Round touch(FaultSpace space, FaultToucher.Walk walk, int cpu) throws InterruptedException {
        BaselineProcess.Measured measured = toucher.touch(setting.on(cpu), walk);
        return new Round(measured, awaitEnd(space));
    }

    private interface Rounds {
        Round run() throws InterruptedException;
    }

    /** A round while a second guest writes its pages in their order. A quarter of them may be resident, or half. */
    private Round besideStream(FaultSpace space, Rounds round) throws InterruptedException {
        boolean large = space == FaultSpace.LARGE_STREAM;
        long pages = large ? FaultPlan.LARGE_STREAM_BYTES / FaultPlan.PAGE_BYTES : plan.given().pages;
        Path other = socket.resolveSibling(space.name(idle) + ".sock");
        attach(space, other, plan.given().prefetch, OptionalLong.of(large ? pages / 2 : pages / 4));
        FaultToucher.Setting there = new FaultToucher.Setting(
                new FaultToucher.Handed(other, FaultToucher.Backing.MEMFD, 0, large),
                plan.run().seed(),
                OptionalInt.empty(),
                plan.roundTimeout());
        try (StreamingToucher stream = toucher.stream(there, pages)) {
            Round measured = round.run();
            stream.end();
            awaitEnd(space);
            return measured;
        }
    }

    private GuestStatus awaitEnd(FaultSpace space) throws InterruptedException {
        return client.awaitEnd(space.name(idle), END_TIMEOUT)
                .orElseThrow(() -> new CommandException("the agent did not see the toucher's end within "
                        + END_TIMEOUT.toSeconds() + " s: " + agents.node().lastWords()));
    }

    /** What the home's pages are made of. */
    String backing() {
        return backing;
    }

    /** Ids of the agents. */
    List<Long> processes() {
        return Stream.concat(agents.processes().stream(), secondHome.map(AgentProcess::child).map(Child::pid).stream())
                .toList();
    }

    /** What carries the pages, named as the provider of verbs. */
    String transport() throws InterruptedException {
        return client.transport(AgentFlags.HOME).equals("rdma") ? "ibverbs" : "soft";
    }

    /**
     * One round of the toucher with another handler, which listens at the path {@code handler}; both agents are off the
     * CPU meanwhile.
     */
    BaselineProcess.Measured touchPaused(Path handler, FaultToucher.Walk walk, int toucherCpu)
            throws InterruptedException {
        FaultToucher.Setting there = setting.with(
                        new FaultToucher.HandedToC(new FaultToucher.Handed(handler, plan.given().backing)))
                .on(toucherCpu);
        return whilePaused(() -> toucher.touch(there, walk));
    }

    /** Takes the agents off the CPU meanwhile. */
    <T> T whilePaused(AgentPair.Paused<T> work) throws InterruptedException {
        return agents.whilePaused(work);
    }

    @Override
    public void close() {
        agents.resume();
        client.close();
        agents.node().close();
        agents.home().close();
        secondHome.ifPresent(AgentProcess::close);
    }
}
