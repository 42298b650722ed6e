package io.farpage.bench.footprint;

import io.farpage.bench.baseline.BaselineProgram;
import io.farpage.bench.baseline.FaultToucher;
import io.farpage.bench.baseline.HeldToucher;
import io.farpage.bench.cluster.FaultPlacement;
import io.farpage.bench.cluster.Idle;
import io.farpage.bench.pattern.PagePattern;
import io.farpage.bench.process.Cpus;
import io.farpage.bench.report.FetchRound;
import io.farpage.guest.command.CommandException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * An agent with many guests: what each adds, and how long a fault of one takes beside the others, which are idle,
 * compared with the same guest as the only one of another agent. Used by one thread.
 */
final class BusyAgent implements AutoCloseable {
    private static final String HOME = "home";
    private static final long PAGE = 4096;
    private static final long TOUCHED = 256;
    private static final long FAULTING_PAGES = 4096;
    /** An agent keeps half of its heap for guests, and refuses more than there is room for. */
    private static final int HEAP_MIB_EACH = 2;

    private static final long STAGING = 16L << 20;
    /** A home also stores which pages it has: two bits for each, in pages behind them. */
    private static final long PRESENCE = 2 * PAGE;

    private static final Duration TIMEOUT = Duration.ofMinutes(1);
    private static final Duration LIFE = Duration.ofHours(1);

    private final Bench bench;
    private final FaultToucher toucher;
    private final Idle idle;
    private final FaultPlacement placement;
    private final List<HeldToucher> guests = new ArrayList<>();

    private BusyAgent(Bench bench, FaultToucher toucher, Idle idle) {
        this.bench = bench;
        this.toucher = toucher;
        this.idle = idle;
        this.placement = FaultPlacement.of(idle, Cpus.allowed());
    }

    static long steps(FootprintOptions options) {
        return 4L * options.idle().size();
    }

    static List<Section> measure(Bench bench) throws InterruptedException {
        Path directory = bench.options().report().resolve("baseline");
        return switch (BaselineProgram.build(BaselineProgram.TOUCHER, directory)) {
            case BaselineProgram.Unavailable(String reason) -> {
                bench.leftOut().add("guests: " + reason);
                yield List.of();
            }
            case BaselineProgram.Built(Path program, Path _) -> {
                FaultToucher toucher = new FaultToucher(program, bench.children());
                List<Section> sections = new ArrayList<>();
                for (Idle idle : bench.options().idle()) {
                    try (BusyAgent busy = new BusyAgent(bench, toucher, idle)) {
                        sections.addAll(busy.measure());
                    }
                }
                yield sections;
            }
        };
    }

    private List<Section> measure() throws InterruptedException {
        long room = bench.options().guests() * (bench.options().guestMemory() + PRESENCE)
                + 2 * (FAULTING_PAGES * PAGE + PRESENCE);
        Map<String, String> ofHome = new HashMap<>();
        ofHome.put("pool.exported", Long.toString(Math.ceilDiv(room, Agent.SMALLEST) * Agent.SMALLEST));
        ofHome.put("tcp.responder_idle", idle.label());
        ofHome.put("tcp.responder_cpu", Integer.toString(placement.homeCpu()));
        Map<String, String> ofNode = new HashMap<>();
        ofNode.put("shard.idle", idle.label());
        ofNode.put("shard.cpu", Integer.toString(placement.handlerCpu()));
        ofNode.put("pool.staging", Long.toString(STAGING));
        ofNode.put("fetch.deadline", "5s");
        int heap = Agent.HEAP_MIB + HEAP_MIB_EACH * bench.options().guests();
        bench.progress().label(said("starting agents"));
        try (Agent home = Agent.startSteady(bench, name(HOME), Agent.HEAP_MIB, ofHome);
                Agent alone = Agent.startSteady(bench, name("alone"), heap, ofNode);
                Agent beside = Agent.startSteady(bench, name("beside"), heap, ofNode)) {
            prepare(alone);
            prepare(beside);
            bench.step(said("starting guests"));
            List<Row> rows = guests(beside);
            Section guests = new Section(
                    "guests-" + idle.label(),
                    "guests of %d MiB each, idle; %s (heap of one size)"
                            .formatted(bench.options().guestMemory() >> 20, idle.label()),
                    rows);
            bench.step(said("faults of one guest"));
            Section faults = faults(home, alone, beside);
            bench.step(said("done"));
            return List.of(guests, faults);
        }
    }

    private String name(String agent) {
        return agent + "-" + idle.label();
    }

    private String said(String what) {
        return "guests, " + idle.label() + ": " + what;
    }

    private FaultToucher.Setting setting(Path socket, long bytes, Duration timeout) {
        return new FaultToucher.Setting(
                new FaultToucher.Handed(socket, FaultToucher.Backing.MEMFD, bytes, false),
                1,
                OptionalInt.of(placement.toucherCpu()),
                timeout);
    }

    private Path attach(Agent agent, String space, long bytes) throws InterruptedException {
        Path socket = bench.children().scratch().resolve(space + ".sock");
        agent.client().attach(space, Spaces.guest(socket, OptionalLong.of(bytes), List.of(name(HOME)), false));
        return socket;
    }

    /** The guest that will fault writes its pages, which the agent brings home when the guest ends. */
    private void prepare(Agent agent) throws InterruptedException {
        String space = "faulting-" + agent.child().name();
        Path socket = attach(agent, space, FAULTING_PAGES * PAGE);
        toucher.fill(setting(socket, 0, TIMEOUT), FAULTING_PAGES);
        Spaces.awaitEnd(agent, space);
    }

    private List<Row> guests(Agent agent) throws InterruptedException {
        int idleGuests = bench.options().guests() - 1;
        int first = 2;
        begin(agent, 0, first);
        Figures few = agent.settled();
        Figures fewCpu = agent.cpu();
        begin(agent, first, idleGuests);
        bench.step(said("looking at %d guests".formatted(idleGuests)));
        Figures all = agent.settled();
        Figures cpu = agent.cpu();
        return List.of(
                new Row("agent with %d guests".formatted(first), few.with(fewCpu)),
                new Row("agent with %d guests".formatted(idleGuests), all.with(cpu)),
                new Row(
                        "each guest, slope",
                        all.with(cpu).minus(few.with(fewCpu)).dividedBy(idleGuests - first)));
    }

    private void begin(Agent agent, int from, int to) throws InterruptedException {
        List<HeldToucher> started = new ArrayList<>();
        for (int number = from; number < to; number++) {
            Path socket = attach(
                    agent,
                    "idle-%s-%d".formatted(idle.label(), number),
                    bench.options().guestMemory());
            HeldToucher guest =
                    toucher.fillAndHold(setting(socket, bench.options().guestMemory(), LIFE), TOUCHED);
            guests.add(guest);
            started.add(guest);
        }
        for (HeldToucher guest : started) {
            guest.awaitFilled();
        }
    }

    /** Rounds of both agents alternate; the one that has no turn is off the CPU. */
    private Section faults(Agent home, Agent alone, Agent beside) throws InterruptedException {
        List<double[]> rounds = new ArrayList<>();
        beside.child().pause();
        alone.child().pause();
        for (int round = 0; round <= bench.options().rounds(); round++) {
            bench.progress().label(said("round " + round));
            boolean isReversed = round % 2 == 1;
            double first = round(isReversed ? beside : alone, round);
            double second = round(isReversed ? alone : beside, round);
            // The first round warms both up.
            if (round > 0) {
                rounds.add(isReversed ? new double[] {second, first} : new double[] {first, second});
            }
        }
        alone.child().resume();
        beside.child().resume();
        double[] ratios = rounds.stream()
                .mapToDouble(round -> round[1] / round[0])
                .sorted()
                .toArray();
        Figures figures = new Figures(Map.of(
                Measure.ALONE,
                Figures.median(rounds.stream().mapToDouble(round -> round[0]).toArray()),
                Measure.BESIDE,
                Figures.median(rounds.stream().mapToDouble(round -> round[1]).toArray()),
                Measure.RATIO,
                Figures.median(ratios),
                Measure.LEAST,
                ratios[0],
                Measure.MOST,
                ratios[ratios.length - 1],
                Measure.ROUNDS,
                (double) rounds.size()));
        return new Section(
                "faults-" + idle.label(),
                "p50 of a fault: a guest alone, and beside %d idle ones; %s, pages of %s"
                        .formatted(
                                bench.options().guests() - 1,
                                placement,
                                home.child().name()),
                List.of(new Row(idle.label(), figures)));
    }

    private double round(Agent agent, int number) throws InterruptedException {
        agent.child().resume();
        String space = "faulting-" + agent.child().name();
        Path socket = attach(agent, space, FAULTING_PAGES * PAGE);
        FetchRound round = toucher.touch(
                        setting(socket, 0, TIMEOUT),
                        new FaultToucher.Walk(
                                FAULTING_PAGES,
                                FAULTING_PAGES,
                                PagePattern.RANDOM,
                                1,
                                FAULTING_PAGES / 8,
                                number,
                                false))
                .round();
        if (round.mismatches() > 0) {
            throw new CommandException(round.mismatches() + " pages of " + space + " did not hold what they should");
        }
        Spaces.awaitEnd(agent, space);
        agent.child().pause();
        return round.latencies().getValueAtPercentile(50);
    }

    @Override
    public void close() {
        guests.forEach(HeldToucher::close);
    }
}
