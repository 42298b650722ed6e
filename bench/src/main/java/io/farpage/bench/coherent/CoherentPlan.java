package io.farpage.bench.coherent;

import static io.farpage.bench.command.Plan.require;

import io.farpage.bench.baseline.RdmaPort;
import io.farpage.bench.cluster.AgentFlags;
import io.farpage.bench.cluster.Idle;
import io.farpage.bench.command.Plan;
import io.farpage.bench.command.RunOptions;
import io.farpage.bench.report.Subject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * What to measure, checked.
 *
 * @param given the options
 * @param idle how all threads wait
 * @param cpus that agents and threads may run on
 */
record CoherentPlan(CoherentOptions given, Idle idle, List<Integer> cpus, int rounds) implements Plan {
    static final int PAGE_BYTES = 4096;

    static final long STAGING = 16L << 20;

    /** Nodes whose members fault; the last one only sums. */
    static final int NODES = 5;

    /** Pages of what is larger than the local limit, in relation to the limit. */
    static final int BEYOND_LOCAL = 4;

    /** The local limit may be as small as 64 pages. */
    private static final int LEAST_COUNT = 256;

    private static final int MOST_COUNT = 100_000;
    private static final int MOST_REPLICAS = 2;
    private static final int DEFAULT_ROUNDS = 9;
    /** The shard and what answers peers. */
    private static final int CPUS_OF_AGENT = 2;

    private static final long LONGEST_SECONDS = 3600;
    /** As a quiet machine of two CPUs takes it. */
    private static final Duration START = Duration.ofSeconds(20);

    /** All faults of a round for each of {@link CoherentOptions#count}, with those that are not recorded. */
    private static final Duration ROUND_OF_ONE = Duration.ofMillis(3);

    private static final Duration ROUND_BEGIN = Duration.ofMillis(200);

    /**
     * Checks the options.
     *
     * @param allowedCpus that this process may use, in order
     * @throws IllegalArgumentException naming the option, the value and what is allowed
     */
    static CoherentPlan of(CoherentOptions o, List<Integer> allowedCpus) {
        require(
                o.count >= LEAST_COUNT && o.count <= MOST_COUNT,
                "--count " + o.count + ": must be from " + LEAST_COUNT + " to " + MOST_COUNT);
        require(
                o.replicas >= 1 && o.replicas <= MOST_REPLICAS,
                "--replicas " + o.replicas + ": must be 1 or " + MOST_REPLICAS);
        require(o.warmup.toSeconds() <= LONGEST_SECONDS, "--warmup " + o.warmup.toSeconds() + "s: must be at most 1h");
        Optional<RdmaPort> rdma = o.rdma.port(o.run.transport());
        require(
                o.run.transport() != RunOptions.Transport.RDMA || rdma.isPresent(),
                "--transport rdma: a C program exchanges messages over the same device; add --device NAME");
        require(!o.run.noBaseline(), "--no-baseline: faults are compared with messages of a C program; leave it out");
        require(!o.apart || allowedCpus.size() > 1, "--apart needs two CPUs, and has 1; leave it out");
        List<Idle> idle = o.run.idle(List.of(Idle.BLOCK), allowedCpus.size(), new ArrayList<>());
        require(idle.size() == 1, "--idle: one way to wait is measured at a time, and " + idle.size() + " are given");
        CoherentPlan plan = new CoherentPlan(o, idle.getFirst(), allowedCpus, o.run.rounds(DEFAULT_ROUNDS));
        int needed = plan.agents() * CPUS_OF_AGENT + 1;
        require(
                idle.getFirst() == Idle.BLOCK || allowedCpus.size() >= needed,
                ("--idle %s needs %d CPUs, two for each of %d agents and one for the faults, and has %d;"
                                + " use --idle block")
                        .formatted(idle.getFirst().label(), needed, plan.agents(), allowedCpus.size()));
        return plan;
    }

    /** The device of all agents; empty if they are linked over TCP. */
    Optional<RdmaPort> rdma() {
        return given.rdma.port(given.run.transport());
    }

    private int agents() {
        return NODES + given.replicas;
    }

    /** The CPU of the shard of an agent: nodes first, then homes. */
    int shardCpu(int agent) {
        if (idle != Idle.BLOCK) {
            return cpus.get(CPUS_OF_AGENT * agent);
        }
        return agent == NODES - 1 ? otherCpu() : agent < NODES ? cpus.getFirst() : homeCpu();
    }

    /** The CPU of what answers the peers of an agent. */
    int responderCpu(int agent) {
        return idle == Idle.BLOCK ? shardCpu(agent) : cpus.get(CPUS_OF_AGENT * agent + 1);
    }

    /** The CPU of the threads that fault; if all sleep, that of the agents: a wake-up across CPUs takes longer. */
    int faultingCpu() {
        return idle == Idle.BLOCK ? cpus.getFirst() : cpus.get(CPUS_OF_AGENT * agents());
    }

    private int homeCpu() {
        return given.apart ? otherCpu() : cpus.getFirst();
    }

    /** Where the second half of a sum is added. */
    int otherCpu() {
        return cpus.getLast();
    }

    /** Where the C program answers itself. */
    int answererCpu() {
        return idle == Idle.BLOCK ? homeCpu() : cpus.get(1);
    }

    String placement() {
        if (idle != Idle.BLOCK) {
            return "each agent on two of %d cpus, faults on cpu %d".formatted(cpus.size(), faultingCpu());
        }
        return "nodes on cpu %d, homes on cpu %d, the second node of a sum on cpu %d"
                .formatted(cpus.getFirst(), homeCpu(), otherCpu());
    }

    /** How long one turn of one side may take: 20 ms for each of its faults. */
    Duration turnTimeout() {
        return Duration.ofSeconds(60).plusMillis(20L * BEYOND_LOCAL * given.count);
    }

    @Override
    public Subject subject() {
        return Subject.COHERENT;
    }

    @Override
    public RunOptions run() {
        return given.run;
    }

    @Override
    public List<String> skipped() {
        return List.of();
    }

    @Override
    public long allRounds() {
        return rounds;
    }

    @Override
    public Duration expected() {
        Duration round = ROUND_OF_ONE.multipliedBy(given.count).plus(ROUND_BEGIN);
        return START.plus(given.warmup).plus(round.multipliedBy(rounds + 1L));
    }

    @Override
    public long hugepages() {
        long each = AgentFlags.hugepages(0, STAGING);
        return AgentFlags.hugepages(homeBytes()) * given.replicas + each * agents();
    }

    /** Bytes that the pool of a home needs: for each space whole hugepages, and one behind its pages. */
    long homeBytes() {
        long bytes = 0;
        for (Memory memory : Memory.values()) {
            bytes += AgentFlags.roundUp(memory.bytes(this)) + AgentFlags.roundUp(1);
        }
        return bytes;
    }
}
