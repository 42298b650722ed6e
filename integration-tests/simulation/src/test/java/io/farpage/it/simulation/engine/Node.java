package io.farpage.it.simulation.engine;

import java.util.ArrayList;
import java.util.IdentityHashMap;
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
    /** What threads that stand still are to go on with. */
    private final IdentityHashMap<Thread, List<Runnable>> stopped = new IdentityHashMap<>();

    private boolean dead;
    private long standsStillUntil;
    /** What the host's wall clock is ahead of the time since the beginning, nanoseconds. */
    private long clockOffset;

    private long stoodStillAt = Long.MIN_VALUE;
    /** Steps of control threads until the one that makes the step stands still, and for how long. */
    private int stepsUntilStop;

    private long stopNanos;

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

    /** Steps the wall clock; the monotonic one goes on. */
    public void stepClock(long nanos) {
        clockOffset += nanos;
    }

    long clockOffset() {
        return clockOffset;
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

    /**
     * Stops one control or request thread for a while: the thread that makes step {@code afterSteps} from now. The
     * other threads run.
     */
    public void stopThread(int afterSteps, long nanos) {
        stepsUntilStop = afterSteps;
        stopNanos = nanos;
    }

    /** A thread has made a step, and waits for something now, or has ended. */
    void ran(Thread thread) {
        if (stepsUntilStop == 0 || isOfData(thread.getName()) || --stepsUntilStop > 0) {
            return;
        }
        long until = engine.now() + stopNanos;
        stoodStillAt = Math.max(stoodStillAt, until);
        engine.trail()
                .note(
                        engine.elapsed(),
                        "thread '%s' of %s stands still %.3f s".formatted(thread.getName(), this, stopNanos / 1e9));
        stopped.put(thread, new ArrayList<>());
        engine.at(until, null, () -> {
            List<Runnable> held = stopped.remove(thread);
            if (!dead && held != null) {
                held.forEach(task -> engine.ready(this, task));
            }
        });
    }

    private static boolean isOfData(String thread) {
        return thread.startsWith("shard") || thread.startsWith("vcpu");
    }

    /** Keeps what a thread is to go on with if it stands still. */
    boolean keeps(Thread thread, Runnable task) {
        List<Runnable> held = stopped.get(thread);
        if (held == null) {
            return false;
        }
        held.add(task);
        return true;
    }

    /** Whether all threads have run since a moment. */
    public boolean ranSince(long moment) {
        return stoodStillAt < moment;
    }

    /** Stops all threads for a while. Their timers expire meanwhile, as those of a process that gets SIGSTOP. */
    public void standStill(long nanos) {
        stoodStillAt = Math.max(stoodStillAt, engine.now() + nanos);
        standsStillUntil = Math.max(standsStillUntil, engine.now() + nanos);
        engine.at(standsStillUntil, null, this::release);
    }

    /** Has the process go on after {@code nanos}, if it would stand still for longer. */
    public void goOnIn(long nanos) {
        standsStillUntil = Math.min(standsStillUntil, engine.now() + nanos);
        stoodStillAt = standsStillUntil;
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
        stopped.clear();
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
