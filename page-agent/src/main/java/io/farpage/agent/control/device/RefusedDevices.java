package io.farpage.agent.control.device;

import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * Devices that are present and were not usable when they were last tried. Opening a device to find out costs its
 * firmware time, so each refusal doubles the pause before the next try. Used by one thread.
 */
final class RefusedDevices {
    private static final Duration FIRST_PAUSE = Duration.ofSeconds(1);
    static final Duration LONGEST_PAUSE = Duration.ofSeconds(16);

    private final LongSupplier clock;
    private final Map<String, Refusal> refusals = new HashMap<>();

    private record Refusal(long at, Duration pause) {}

    /** @param clock nanoTime */
    RefusedDevices(LongSupplier clock) {
        this.clock = clock;
    }

    /** The device was tried and is not usable. */
    void add(String device) {
        refusals.compute(
                device, (_, last) -> new Refusal(clock.getAsLong(), last == null ? FIRST_PAUSE : longer(last.pause())));
    }

    private static Duration longer(Duration pause) {
        Duration twice = pause.multipliedBy(2);
        return twice.compareTo(LONGEST_PAUSE) > 0 ? LONGEST_PAUSE : twice;
    }

    boolean isPaused(String device) {
        Refusal last = refusals.get(device);
        return last != null && clock.getAsLong() - last.at() < last.pause().toNanos();
    }

    /** Forgets devices that are no longer present: one that comes back is tried at once. */
    void retain(Collection<String> present) {
        refusals.keySet().retainAll(present);
    }

    /** Forgets a device that was opened. */
    void remove(String device) {
        refusals.remove(device);
    }
}
