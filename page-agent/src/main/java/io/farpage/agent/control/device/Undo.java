package io.farpage.agent.control.device;

import java.util.ArrayDeque;
import java.util.Deque;

/** Resources to close, newest first, if a construction in several steps fails halfway. */
final class Undo {
    private final Deque<AutoCloseable> done = new ArrayDeque<>();

    <T extends AutoCloseable> T add(T opened) {
        done.push(opened);
        return opened;
    }

    void run(Exception cause) {
        for (AutoCloseable opened : done) {
            try {
                opened.close();
            } catch (Exception e) {
                cause.addSuppressed(e);
            }
        }
    }
}
