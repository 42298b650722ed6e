package io.farpage.agent.node;

/** Breaks the cycle between the shards, which signal notices to the links, and the links, which need the shards. */
final class Notifier implements Runnable {
    private volatile Runnable target = () -> {};

    /** What {@link #run} runs from now on. */
    void setTarget(Runnable target) {
        this.target = target;
    }

    @Override
    public void run() {
        target.run();
    }
}
