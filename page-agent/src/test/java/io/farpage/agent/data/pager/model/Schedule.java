package io.farpage.agent.data.pager.model;

import org.jspecify.annotations.Nullable;

/** Says what happens next. */
interface Schedule {
    /**
     * Asked again and again between turns of the agent, and before each of its calls into the kernel.
     *
     * @param inTurn whether the agent is about to make such a call
     * @return null to end the run, or, within a turn, to let the agent end its turn
     */
    @Nullable
    Step next(World world, boolean inTurn);

    /** A step that was returned means nothing at the moment, and is passed over. */
    default void passedOver(Step step) {}

    /** How long a turn of the agent takes, nanoseconds. */
    long turnNanos();

    /** Whether inspections of pins begin and end as the schedule says, rather than taking no time. */
    default boolean inspectsSlowly() {
        return false;
    }

    /** Whether everything is to be brought to its end when the schedule has ended. */
    default boolean settles() {
        return true;
    }
}
