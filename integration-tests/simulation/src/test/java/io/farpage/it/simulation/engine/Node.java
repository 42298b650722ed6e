package io.farpage.it.simulation.engine;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;

/**
 * A process of the simulated cluster: its threads run one at a time, may stand still together, and are gone together
 * when it is killed.
 */
public final class Node {
    private final Engine engine;
    private final String name;
    private final String address;
    private final int number;
    private final List<Runnable> held = new ArrayList<>();
    private final List<Runnable> onDeath = new ArrayList<>();
    private final Executor executor;
    private boolean dead;
    private long standsStillUntil;

    Node(Engine engine, String name, String address, int number) {
        this.engine = engine;
        this.name = name;
        this.address = address;
        this.number = number;
        executor = task -> engine.ready(this, task);
    }

    public String name() {
        return name;
    }

    /** The host that the process is on, as peers and clients reach it. */
    public String address() {
        return address;
    }

    int number() {
        return number;
    }

    Executor executor() {
        return executor;
    }

    public boolean isDead() {
        return dead;
    }

    /** Whether the process is stopped at this moment. */
    public boolean standsStill() {
        return engine.now() < standsStillUntil;
    }

    void hold(Runnable task) {
        held.add(task);
    }

    /** Stops all threads for a while. Their timers expire meanwhile, as those of a process that gets SIGSTOP. */
    public void standStill(long nanos) {
        standsStillUntil = Math.max(standsStillUntil, engine.now() + nanos);
        engine.at(standsStillUntil, null, this::release);
    }

    private void release() {
        if (!standsStill() && !dead) {
            List<Runnable> all = List.copyOf(held);
            held.clear();
            all.forEach(Runnable::run);
        }
    }

    /** Ends the process as SIGKILL does: no thread of it runs again. */
    public void kill() {
        dead = true;
        held.clear();
        onDeath.forEach(Runnable::run);
        onDeath.clear();
    }

    /** Runs something at the end of the process, in the order in which it was asked for. */
    public void onDeath(Runnable task) {
        onDeath.add(task);
    }

    /** Starts a thread of this process. */
    public Thread start(String threadName, Runnable task) {
        return Threads.ofVirtual(this).name(threadName).start(task);
    }

    @Override
    public String toString() {
        return name;
    }
}
