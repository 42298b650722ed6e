package io.farpage.agent.data.pager.model;

import io.farpage.agent.data.pager.model.GuestThread.State;
import io.farpage.agent.data.pager.model.Step.Kind;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/** A number of random steps, out of those that are possible, and which were chosen. */
final class RandomSchedule implements Schedule {
    private static final Kind[] OPERATIONS = {
        Kind.READ, Kind.READ, Kind.WRITE, Kind.WRITE, Kind.WRITE, Kind.ZERO, Kind.REMOVE, Kind.REMOVE_TWO, Kind.DISCARD
    };

    /** A guest that reads directly does so once in this number of operations. */
    private static final int DIRECT_ONE_IN = 5;

    /** A guest gives up parts of large pages once in this number of operations. */
    private static final int PART_ONE_IN = 5;

    private static final int TROUBLES = 22;

    private final SplittableRandom random;
    private final List<Step> chosen = new ArrayList<>();
    private final int steps;
    /** Failures are injected once in this number of steps. */
    private final int peace;

    /** An agent that has a successor is killed once in this number of steps, as long as it may be. */
    private final int killOneIn;

    private final long cycleNanos;
    /** The most frequent failure. */
    private final int favourite;

    /** Whether the guest reads directly; only then inspections of pins take time. */
    private final boolean readsDirectly;

    RandomSchedule(SplittableRandom random, int steps) {
        this.random = random;
        this.steps = steps;
        this.peace = random.nextBoolean() ? random.nextInt(3, 13) : 200;
        this.cycleNanos = random.nextBoolean() ? World.SHORT_NANOS : World.LONG_NANOS;
        this.favourite = random.nextInt(TROUBLES);
        this.readsDirectly = random.nextBoolean();
        this.killOneIn = random.nextInt(3) == 0 ? 15 : random.nextInt(40, 200);
    }

    @Override
    public boolean inspectsSlowly() {
        return readsDirectly;
    }

    @Override
    public long cycleNanos() {
        return cycleNanos;
    }

    List<Step> chosen() {
        return chosen;
    }

    @Override
    public @Nullable Step next(World world, boolean inCycle) {
        if (chosen.size() >= steps && !inCycle) {
            return null;
        }
        Step step = choose(world, inCycle);
        chosen.add(step);
        return step;
    }

    private Step choose(World world, boolean inCycle) {
        if (chosen.size() < steps && world.setup.has(Feature.KEPT) && random.nextInt(killOneIn) == 0) {
            Step kill = kill(world.setup);
            if (world.isPossible(kill, inCycle)) {
                return kill;
            }
        }
        if (chosen.size() >= steps || random.nextInt(8) < (inCycle ? 6 : 2)) {
            return Step.AGENT;
        }
        if (!world.kernel().isAlive() && !inCycle && random.nextInt(8) == 0) {
            return Step.LIFE;
        }
        if (random.nextInt(peace) == 0) {
            Step trouble = trouble(world);
            return world.isPossible(trouble, inCycle) ? trouble : Step.AGENT;
        }
        List<Step> possible = possible(world);
        return possible.isEmpty() ? Step.AGENT : possible.get(random.nextInt(possible.size()));
    }

    private Step kill(Setup setup) {
        if (!setup.isMirrored()) {
            return setup.has(Feature.SNAPSHOT) ? Step.of(Kind.KILL, random.nextInt(2)) : Step.of(Kind.KILL);
        }
        return new Step(
                Kind.KILL, random.nextInt(2), random.nextInt(4) == 0 ? random.nextInt(1, setup.homes() + 1) : 0);
    }

    private List<Step> possible(World world) {
        List<Step> possible = new ArrayList<>();
        for (GuestThread thread : world.threads) {
            if (World.canRun(thread)) {
                possible.add(Step.of(Kind.RUN, thread.number));
            } else if (thread.state == State.IDLE) {
                Step step = new Step(operation(world), thread.number, random.nextInt(world.setup.pages()));
                if (world.isPossible(step, true)) {
                    possible.add(step);
                }
            }
        }
        world.fabric.addSteps(possible);
        // The coordinator is slow, so that pages are on their way when a home joins or is promoted.
        boolean joins = random.nextInt(16) == 0;
        boolean promotes = random.nextInt(4) == 0;
        possible.removeIf(step -> (step.kind() == Kind.JOIN && !joins) || (step.kind() == Kind.PROMOTE && !promotes));
        world.pins.addSteps(possible);
        addAllocations(world, possible);
        addSnapshots(world, possible);
        if (world.agent.kills() > 0) {
            world.fabric.addLinks(possible);
        }
        return possible;
    }

    /** Room is given and taken back late now and then, so that pages wait for it. */
    private void addAllocations(World world, List<Step> possible) {
        for (int page = 0; world.setup.isThin() && page < world.setup.remotePages(); page++) {
            addRarely(4, Step.of(Kind.ALLOCATE, page), world, possible);
            addRarely(8, Step.of(Kind.WITHDRAW, page), world, possible);
            addRarely(4, Step.of(Kind.GIVE_BACK, page), world, possible);
            addRarely(16, Step.of(Kind.REINSTATE, page), world, possible);
        }
    }

    private void addSnapshots(World world, List<Step> possible) {
        addRarely(4, Step.of(Kind.PREPARE), world, possible);
        addRarely(4, Step.of(Kind.FREEZE), world, possible);
        addRarely(4, Step.of(Kind.HAND_OVER), world, possible);
        addRarely(8, Step.of(Kind.THAW, 1), world, possible);
        addRarely(64, Step.of(Kind.THAW), world, possible);
    }

    private void addRarely(int times, Step step, World world, List<Step> possible) {
        if (random.nextInt(times) == 0 && world.isPossible(step, false)) {
            possible.add(step);
        }
    }

    private Kind operation(World world) {
        if (readsDirectly && random.nextInt(DIRECT_ONE_IN) == 0) {
            return Kind.DIRECT;
        }
        if (world.setup.has(Feature.LARGE_PAGES) && random.nextInt(PART_ONE_IN) == 0) {
            return random.nextBoolean() ? Kind.REMOVE_PART : Kind.REMOVE_ACROSS;
        }
        return OPERATIONS[random.nextInt(OPERATIONS.length)];
    }

    /** A child is forked, lives for a while and ends; the agent probes whether it lives. */
    private Step family(World world) {
        if (world.guest.hasChild()) {
            return random.nextInt(8) == 0 ? Step.of(Kind.CHILD_END) : Step.AGENT;
        }
        boolean probes = world.guest.hasForked() && random.nextBoolean();
        return probes ? Step.of(Kind.PROBE) : Step.of(Kind.FORK, random.nextInt(world.threads.size()));
    }

    private Step trouble(World world) {
        int home = random.nextInt(world.setup.homes());
        return switch (random.nextBoolean() ? favourite : random.nextInt(TROUBLES)) {
            case 0 -> Step.of(Kind.BREAK, home);
            case 1, 2 -> Step.of(Kind.CONNECT, home);
            case 3 -> Step.of(Kind.EXPIRE);
            case 4 -> Step.of(Kind.WAIT);
            case 5 -> Step.of(Kind.RESIZE, random.nextInt(1, World.MAX_LIMIT + 1));
            case 6 -> Step.of(Kind.RECLAIM, random.nextInt(world.setup.pages()));
            case 7 -> Step.of(Kind.STARVE, random.nextInt(3));
            case 8 -> Step.of(Kind.PROBE);
            case 9 -> Step.of(Kind.LAND_LATE);
            case 10 -> Step.of(Kind.SPLIT, random.nextInt(world.setup.pages()));
            case 11, 12 -> family(world);
            case 13 -> Step.of(Kind.LOSE, home);
            case 14 -> Step.of(Kind.INSPECT);
            case 15 -> Step.of(Kind.SILENCE, home);
            case 16, 17 -> Step.of(Kind.ANSWER, home);
            case 18 -> Step.of(Kind.PARK, random.nextInt(1, World.MAX_LIMIT + 1));
            case 19 -> Step.of(Kind.UNPARK);
            case 20 -> Step.of(Kind.REFUSE);
            default -> Step.of(Kind.END);
        };
    }
}
