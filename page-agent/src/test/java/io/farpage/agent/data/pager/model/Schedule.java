package io.farpage.agent.data.pager.model;

import org.jspecify.annotations.Nullable;

/** The order of steps. */
interface Schedule {
    /**
     * The next step. Called between duty cycles of the agent, and before each of its calls into the kernel.
     *
     * @param inCycle whether the agent is about to make such a call
     * @return null to end the run, or, within a duty cycle, to let the agent end it
     */
    @Nullable
    Step next(World world, boolean inCycle);

    /** A step that was returned does not apply at the moment, and is passed over. */
    default void passedOver(Step step) {}

    /** How long a duty cycle of the agent takes, nanoseconds. */
    long cycleNanos();

    /** Whether inspections of pins begin and end as the schedule says, rather than taking no time. */
    default boolean inspectsSlowly() {
        return false;
    }

    /** Whether the world is brought to its end when the schedule has ended. */
    default boolean quiesces() {
        return true;
    }
}
