package io.farpage.bench.fault;

import io.farpage.bench.baseline.BaselineProcess;
import io.farpage.bench.baseline.BaselineProgram;
import io.farpage.bench.baseline.FaultHandler;
import io.farpage.bench.baseline.FaultToucher;
import io.farpage.bench.cluster.AgentPair;
import io.farpage.bench.command.ComparedSide;
import io.farpage.bench.command.MeasuringCommand;
import io.farpage.bench.command.Rounds;
import io.farpage.bench.report.Baseline;
import io.farpage.bench.report.Cost;
import io.farpage.bench.report.FetchRun;
import io.farpage.bench.report.RunSettings;
import io.farpage.bench.report.Turn;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code page-bench peers}. */
@Command(
        name = "peers",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description =
                "A process touches memory whose faults a C program resolves with pages from a page server in C, from"
                        + " memcached, redis and nbdkit over TCP, then with pages that the kernel has swapped to zram,"
                        + " and with farpage's agent. Compares all with the page server in C.")
public final class PeersCommand extends MeasuringCommand<PeersPlan> {
    @Mixin
    private final PeersOptions options = new PeersOptions();

    @Override
    protected PeersPlan plan(List<Integer> allowedCpus) {
        return PeersPlan.of(options, allowedCpus, Peer.path());
    }

    @Override
    protected List<FetchRun> measure(PeersPlan plan, Running running) throws InterruptedException {
        running.progress().label("building the C programs");
        Handlers handlers = new Handlers(plan.fault(), running.children());
        Path placed = handlers.build(BaselineProgram.PLACED);
        FaultToucher toucher = new FaultToucher(handlers.build(BaselineProgram.TOUCHER), running.children());
        List<FetchRun> runs = new ArrayList<>();
        for (FaultScenario scenario : plan.fault().scenarios()) {
            try (Scene scene = new Scene(plan, running, scenario, toucher, handlers, placed)) {
                scene.open();
                runs.addAll(scene.measure());
            }
        }
        return runs;
    }

    /** All sides of one idle strategy. */
    private static final class Scene implements AutoCloseable {
        private final PeersPlan plan;
        private final Running running;
        private final FaultScenario scenario;
        private final FaultToucher toucher;
        private final Handlers handlers;
        private final Path placed;
        private final FaultToucher.Setting setting;
        private final Deque<Runnable> ends = new ArrayDeque<>();
        private final List<PeerSide> sides = new ArrayList<>();
        private Optional<FaultAgents> agents = Optional.empty();

        Scene(
                PeersPlan plan,
                Running running,
                FaultScenario scenario,
                FaultToucher toucher,
                Handlers handlers,
                Path placed) {
            this.plan = plan;
            this.running = running;
            this.scenario = scenario;
            this.toucher = toucher;
            this.handlers = handlers;
            this.placed = placed;
            this.setting = new FaultToucher.Setting(
                    new FaultToucher.Swapped(),
                    plan.run().seed(),
                    OptionalInt.of(scenario.placement().toucherCpu()),
                    plan.fault().roundTimeout());
        }

        /** Starts all that bring pages; the page server in C is the first side. */
        void open() throws InterruptedException {
            String idle = scenario.idle().label();
            running.progress().label(idle + ": starting the page server in C");
            FaultHandler c = handlers.start(scenario, "c", List.of());
            ends.push(c::close);
            sides.add(new PeerSide(
                    new PeerSide.Words("c-server", "tcp", c.backing()),
                    c.processes(),
                    round -> touchPaused(c.socket(), round).round()));
            for (Peer peer : plan.peers()) {
                running.progress().label(idle + ": starting " + peer.label());
                sides.add(
                        switch (peer) {
                            case MEMCACHED, REDIS, NBDKIT -> server(peer);
                            case ZRAM -> zram();
                            case FARPAGE -> farpage();
                        });
            }
        }

        private PeerSide server(Peer peer) throws InterruptedException {
            PeerServer server = PeerServer.start(peer, running.children(), plan.fault(), scenario, placed, handlers);
            ends.push(server::close);
            return new PeerSide(
                    new PeerSide.Words(peer.label(), "tcp", peer.version()),
                    server.processes(),
                    round -> server.whileRunning(handler -> touchPaused(handler, round))
                            .round());
        }

        private PeerSide zram() throws InterruptedException {
            SwapDevice swap = SwapDevice.add(running.children(), plan.fault().bytes());
            ends.push(swap::close);
            return new PeerSide(new PeerSide.Words(Peer.ZRAM.label(), "swap", "zram"), List.of(), round -> {
                swap.on();
                try {
                    return paused(() -> toucher.touch(setting, scenario.walk(plan.fault(), round)))
                            .round();
                } finally {
                    swap.off();
                }
            });
        }

        private PeerSide farpage() throws InterruptedException {
            FaultAgents started = new FaultAgents(running, plan.fault(), scenario, toucher);
            ends.push(started::close);
            FaultMeasurement measurement = new FaultMeasurement(plan.fault(), scenario, started);
            running.progress().label(scenario.idle().label() + ": warming up");
            long deadline = System.nanoTime() + plan.fault().given().warmup.toNanos();
            while (System.nanoTime() - deadline < 0) {
                measurement.warmUp();
            }
            agents = Optional.of(started);
            return new PeerSide(
                    new PeerSide.Words(Peer.FARPAGE.label(), started.transport(), started.backing()),
                    started.processes(),
                    measurement::run);
        }

        private BaselineProcess.Measured touchPaused(Path handler, int round) throws InterruptedException {
            FaultToucher.HandedToC memory = new FaultToucher.HandedToC(
                    new FaultToucher.Handed(handler, plan.fault().given().backing));
            return paused(() -> toucher.touch(setting.with(memory), scenario.walk(plan.fault(), round)));
        }

        /** With the agents off the CPU, if there are any. */
        private <T> T paused(AgentPair.Paused<T> work) throws InterruptedException {
            return agents.isPresent() ? agents.get().whilePaused(work) : work.run();
        }

        List<FetchRun> measure() throws InterruptedException {
            String idle = scenario.idle().label();
            Rounds.Taken taken = running.rounds()
                    .alternate(
                            idle, List.<ComparedSide>copyOf(sides), plan.fault().rounds());
            PeerSide c = sides.getFirst();
            List<Turn> reference = List.copyOf(taken.of(c.turns()));
            List<FetchRun> runs = new ArrayList<>();
            for (PeerSide side : sides.subList(1, sides.size())) {
                runs.add(new FetchRun(
                        new RunSettings(
                                side.label() + "-" + idle,
                                "fault",
                                side.words().transport(),
                                FaultPlan.PAGE_BYTES,
                                1,
                                scenario.kind().pattern().label(),
                                scenario.placement().toString(),
                                idle,
                                side.words().backing(),
                                plan.fault().settle()),
                        taken.of(side.turns()),
                        Baseline.of(
                                c.label(),
                                scenario.placement().toString(),
                                c.words().backing(),
                                reference),
                        new Cost.NotCounted(),
                        taken.screening()));
            }
            return runs;
        }

        @Override
        public void close() {
            ends.forEach(Runnable::run);
        }
    }
}
