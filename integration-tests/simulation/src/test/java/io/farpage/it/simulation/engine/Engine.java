package io.farpage.it.simulation.engine;

import java.io.BufferedOutputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Virtual time, and one runnable thread at a time: which one is decided by the seed. All threads of the simulated
 * processes are virtual threads whose carrier is the thread that calls {@link #run}. Time passes when no thread can
 * run, and a little with each step.
 */
public final class Engine {
    /** Monotonic time at the beginning, so that no clock is near zero. */
    private static final long BEGINNING = 1_000_000_000_000L;

    /** Where each step is written, to compare two runs of a seed. */
    private static final @Nullable PrintStream TRACE = trace();

    private static final long STACKS = Long.getLong("simulation.stacks", Long.MAX_VALUE);

    private static @Nullable Engine current;

    private final Random random;
    private final Thread loop = Thread.currentThread();
    private final PriorityQueue<Timer> timers = new PriorityQueue<>();
    private final List<Task> ready = new ArrayList<>();
    /** Threads that have got a monitor of the JDK. */
    private final BlockingQueue<Runnable> unblocked = new LinkedBlockingQueue<>();

    private final List<Node> nodes = new ArrayList<>();
    private final Trail trail = new Trail();
    private long now = BEGINNING;
    private long sequence;
    private long steps;
    private long fingerprint = 17;
    private @Nullable Node running;
    private Optional<String> failure = Optional.empty();
    private boolean over;

    private static @Nullable PrintStream trace() {
        String file = System.getProperty("simulation.trace");
        try {
            return file == null ? null : new PrintStream(new BufferedOutputStream(new FileOutputStream(file)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private record Task(Node node, Runnable run) {}

    /** Something that happens at a moment. */
    public static final class Timer implements Comparable<Timer> {
        private final long at;
        private final long sequence;
        private final @Nullable Node node;
        private final Runnable action;
        private boolean cancelled;

        private Timer(long at, long sequence, @Nullable Node node, Runnable action) {
            this.at = at;
            this.sequence = sequence;
            this.node = node;
            this.action = action;
        }

        /** Keeps it from happening. */
        public void cancel() {
            cancelled = true;
        }

        @Override
        public int compareTo(Timer other) {
            return at == other.at ? Long.compare(sequence, other.sequence) : Long.compare(at, other.at);
        }
    }

    public Engine(long seed) {
        random = new Random(seed);
        current = this;
    }

    /** The one of this simulation. */
    public static Engine get() {
        Engine engine = current;
        if (engine == null) {
            throw new IllegalStateException("no simulation runs");
        }
        return engine;
    }

    static boolean exists() {
        return current != null;
    }

    /** Monotonic nanoseconds. */
    public long now() {
        return now;
    }

    /** Nanoseconds since the beginning. */
    public long elapsed() {
        return now - BEGINNING;
    }

    /** The time of day of a process whose clock was never stepped. */
    public Instant timeOfDay() {
        return TimeHooks.at(elapsed());
    }

    /** A moment, as seconds since the beginning. */
    public double secondsAt(long moment) {
        return (moment - BEGINNING) / 1e9;
    }

    /** What decides everything that is open. */
    public Random random() {
        return random;
    }

    /** From {@code low} to {@code high}, both included, small values more often. */
    public long between(long low, long high) {
        double part = random.nextDouble();
        return low + (long) ((high - low) * part * part);
    }

    /** Whether something happens now that happens once in this number of times. */
    public boolean oneIn(int times) {
        return random.nextInt(times) == 0;
    }

    public Trail trail() {
        return trail;
    }

    /** Steps of threads so far. */
    public long steps() {
        return steps;
    }

    /** A hash of all that has happened: of who ran when. */
    public long fingerprint() {
        return fingerprint;
    }

    /** Adds something to the fingerprint. */
    public void mix(long value) {
        fingerprint = (fingerprint ^ value) * 0x9E37_79B9_7F4A_7C15L;
        fingerprint ^= fingerprint >>> 29;
    }

    /** A new process. */
    public Node newNode(String name, String address) {
        Node node = new Node(this, name, address, nodes.size());
        nodes.add(node);
        return node;
    }

    /** The process whose thread runs now. */
    public Node running() {
        Node node = running;
        if (node == null) {
            throw new IllegalStateException("no thread of a process runs");
        }
        return node;
    }

    /** The process whose thread runs now, for messages. */
    public String whoRuns() {
        return running == null ? "no process" : running.toString();
    }

    void ready(Node node, Runnable task) {
        Thread caller = Thread.currentThread();
        if (!caller.equals(loop) && !caller.isVirtual()) {
            unblocked.add(task);
            return;
        }
        if (TRACE != null && now >= STACKS) {
            TRACE.println("ready " + node + " by " + (running == null ? "timer" : running));
            StackWalker.getInstance().forEach(frame -> TRACE.println("    " + frame));
        }
        if (!node.isDead()) {
            ready.add(new Task(node, task));
        }
    }

    /**
     * Schedules an action.
     *
     * @param node that does it, when it runs; null if the action belongs to no process, such as one of the network
     */
    public Timer at(long time, @Nullable Node node, Runnable action) {
        Timer timer = new Timer(time, sequence++, node, action);
        timers.add(timer);
        return timer;
    }

    /** As {@link #at}, so long from now. */
    public Timer after(long nanos, @Nullable Node node, Runnable action) {
        return at(now + Math.max(0, nanos), node, action);
    }

    /** Lets the thread that calls this wait. Not interruptible. */
    public void pause(long nanos) {
        Thread thread = Thread.currentThread();
        boolean[] fired = new boolean[1];
        after(nanos, running(), () -> {
            fired[0] = true;
            LockSupport.unpark(thread);
        });
        boolean interrupted = false;
        while (!fired[0]) {
            interrupted |= Thread.interrupted();
            LockSupport.park();
        }
        if (interrupted) {
            thread.interrupt();
        }
    }

    /** A system call of the thread that runs: it takes a while, and others may run before it. */
    public void call(long nanos) {
        now += nanos;
        if (oneIn(4)) {
            pause(between(0, 20_000));
        }
    }

    /** Ends the simulation. */
    public void end() {
        over = true;
    }

    /** Ends the simulation, because a rule is broken. */
    public void fail(String reason) {
        if (failure.isEmpty()) {
            failure = Optional.of(reason);
            trail.note(now - BEGINNING, "FAILURE: " + reason);
        }
        over = true;
    }

    public Optional<String> failure() {
        return failure;
    }

    /** Runs until it is over, or until a moment of virtual time. */
    public void run(long until) {
        while (!over && now < until) {
            fireTimers();
            if (over) {
                return;
            }
            if (ready.isEmpty()) {
                skipCancelled();
                Timer next = timers.peek();
                if (next == null) {
                    fail("no thread can run and none waits for time");
                    return;
                }
                now = Math.max(now, next.at);
                continue;
            }
            step();
        }
    }

    private void skipCancelled() {
        while (!timers.isEmpty() && timers.peek().cancelled) {
            timers.remove();
        }
    }

    private void fireTimers() {
        while (!timers.isEmpty() && timers.peek().at <= now) {
            Timer timer = timers.remove();
            if (timer.cancelled) {
                continue;
            }
            Node node = timer.node;
            if (node == null) {
                timer.action.run();
            } else if (!node.isDead()) {
                if (node.standsStill()) {
                    node.hold(() -> at(now, node, timer.action));
                } else {
                    running = node;
                    timer.action.run();
                    running = null;
                }
            }
        }
    }

    /**
     * A thread may wait for a monitor of the JDK that a thread of the JVM has, such as that of its cleaner: it goes on
     * at once, in the same step.
     */
    private void passMonitors(Thread thread) {
        try {
            while (thread.getState() == Thread.State.BLOCKED) {
                Runnable goesOn = unblocked.poll(5, TimeUnit.SECONDS);
                if (goesOn == null) {
                    fail("%s waits for a monitor that the simulation does not know: %s"
                            .formatted(thread.getName(), List.of(thread.getStackTrace())));
                    return;
                }
                goesOn.run();
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private void step() {
        int index = random.nextInt(ready.size());
        Task task = ready.get(index);
        Task last = ready.removeLast();
        if (index < ready.size()) {
            ready.set(index, last);
        }
        Node node = task.node();
        if (node.isDead()) {
            return;
        }
        if (node.standsStill()) {
            node.hold(() -> ready(node, task.run()));
            return;
        }
        Thread thread = Threads.of(task.run());
        if (node.keeps(thread, task.run())) {
            return;
        }
        steps++;
        mix(now * 31 + node.number());
        running = node;
        if (TRACE != null) {
            TRACE.println(now + " " + node + " " + fingerprint + " " + task.run());
        }
        task.run().run();
        passMonitors(thread);
        running = null;
        node.ran(thread);
        now += 200 + random.nextInt(2_000);
    }
}
