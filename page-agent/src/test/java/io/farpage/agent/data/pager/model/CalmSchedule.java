package io.farpage.agent.data.pager.model;

import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * One step after the other: each begins when all work that the one before it caused is done. The run ends in the state
 * after the last. A direct read lasts until the program ends it.
 */
final class CalmSchedule implements Schedule {
    /** Duty cycles of the agent after which it has no work left. */
    private static final int REST = 20;

    private final Deque<Function<World, Step>> program = new ArrayDeque<>();
    private int rest = REST;
    private boolean holds;

    /** A guest's thread stores to pages. */
    CalmSchedule write(int first, int end) {
        program.addAll(steps(Step.Kind.WRITE, first, end));
        return this;
    }

    /** A guest's thread reads pages. */
    CalmSchedule read(int first, int end) {
        program.addAll(steps(Step.Kind.READ, first, end));
        return this;
    }

    /** From now on transfers complete only as the program demands. */
    CalmSchedule hold() {
        return then(world -> holds = true);
    }

    /** Checks the world, or changes it. */
    CalmSchedule then(Consumer<World> what) {
        program.add(world -> {
            what.accept(world);
            return Step.AGENT;
        });
        return this;
    }

    private static Collection<Function<World, Step>> steps(Step.Kind kind, int first, int end) {
        return IntStream.range(first, end)
                .mapToObj(page -> (Function<World, Step>) world -> new Step(kind, 0, page))
                .toList();
    }

    @Override
    public @Nullable Step next(World world, boolean inCycle) {
        if (inCycle) {
            return null;
        }
        for (GuestThread thread : world.threads) {
            if (World.canRun(thread) && thread.state != GuestThread.State.PINNED) {
                return Step.of(Step.Kind.RUN, thread.number);
            }
        }
        for (int home = 0; home < world.fabric.homes().size() && !holds; home++) {
            if (!world.fabric.home(home).underWay().isEmpty()) {
                return Step.of(Step.Kind.COMPLETE, home);
            }
        }
        if (rest > 0) {
            rest--;
            return Step.AGENT;
        }
        rest = REST;
        return program.isEmpty() ? null : program.remove().apply(world);
    }

    @Override
    public long cycleNanos() {
        return World.LONG_NANOS;
    }

    @Override
    public boolean quiesces() {
        return false;
    }
}
