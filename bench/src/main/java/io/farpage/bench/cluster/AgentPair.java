package io.farpage.bench.cluster;

import io.farpage.bench.process.Child;
import java.util.List;

/** A home that holds pages and the node that fetches them, processes of their own. Used by one thread. */
public record AgentPair(AgentProcess home, Child node) {
    /** What is done while both are off the CPU. */
    @FunctionalInterface
    public interface Paused<T> {
        T run() throws InterruptedException;
    }

    /** Takes both off the CPU meanwhile, so that they do not disturb what is measured. */
    public <T> T whilePaused(Paused<T> work) throws InterruptedException {
        pause();
        try {
            return work.run();
        } finally {
            resume();
        }
    }

    /** Ids of both. */
    public List<Long> processes() {
        return List.of(home.child().pid(), node.pid());
    }

    /** Takes both off the CPU until {@link #resume}. */
    public void pause() {
        node.pause();
        home.child().pause();
    }

    /** Lets both go on. */
    public void resume() {
        home.child().resume();
        node.resume();
    }
}
