package io.farpage.agent.control.link;

import java.time.Duration;

/** A pause that doubles with each failure in a row, up to a longest one. Used by one thread. */
final class Backoff {
    private final Duration first;
    private final Duration longest;
    private Duration pause = Duration.ZERO;
    private boolean paused;
    private long until;

    Backoff(Duration first, Duration longest) {
        this.first = first;
        this.longest = longest;
    }

    /** Begins the next pause. */
    void failed(long now) {
        Duration next = pause.isZero() ? first : pause.multipliedBy(2);
        pause = next.compareTo(longest) < 0 ? next : longest;
        paused = true;
        until = now + pause.toNanos();
    }

    /** Ends the pause; the next one is the first again. */
    void reset() {
        pause = Duration.ZERO;
        paused = false;
    }

    boolean isOver(long now) {
        return !paused || now - until >= 0;
    }

    /** The pause that the latest failure began. */
    Duration pause() {
        return pause;
    }
}
