package io.farpage.bench.coherent;

import io.farpage.bench.report.FetchRound;
import io.farpage.guest.command.CommandException;
import io.farpage.linux.NativeThread;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.HdrHistogram.Histogram;

/** Threads that touch the memory of members, each on a CPU. A thread whose page never comes ends with the process. */
final class Hands {
    private final Duration timeout;

    /** @param timeout after which the work of a round has failed */
    Hands(Duration timeout) {
        this.timeout = timeout;
    }

    /** What one thread does. */
    @FunctionalInterface
    interface Work {
        /**
         * Touches pages.
         *
         * @param number of the thread, from 0
         */
        void run(Hand hand, int number);
    }

    private record Done(long began, long ended, Histogram latencies) {}

    /** Runs a thread on each of the CPUs, which all begin at the same time, and waits for them. */
    FetchRound run(List<Integer> cpus, Work work) throws InterruptedException {
        CountDownLatch ready = new CountDownLatch(cpus.size());
        List<FutureTask<Done>> tasks = new ArrayList<>();
        for (int i = 0; i < cpus.size(); i++) {
            int number = i;
            FutureTask<Done> task = new FutureTask<>(() -> {
                NativeThread.pinTo(cpus.get(number));
                Hand hand = new Hand();
                ready.countDown();
                ready.await();
                long began = System.nanoTime();
                work.run(hand, number);
                return new Done(began, System.nanoTime(), hand.latencies());
            });
            tasks.add(task);
            Thread.ofPlatform().daemon().name("hand-" + number).start(task);
        }
        long end = System.nanoTime() + timeout.toNanos();
        long began = Long.MAX_VALUE;
        long ended = Long.MIN_VALUE;
        Histogram latencies = FetchRound.newHistogram();
        for (FutureTask<Done> task : tasks) {
            Done done = await(task, end - System.nanoTime());
            began = Math.min(began, done.began());
            ended = Math.max(ended, done.ended());
            latencies.add(done.latencies());
        }
        return new FetchRound(latencies, 0, Duration.ofNanos(ended - began));
    }

    private Done await(FutureTask<Done> task, long nanos) throws InterruptedException {
        try {
            return task.get(nanos, TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            throw new CommandException(
                    "the pages of a round did not come within " + timeout.toSeconds() + " s; see the agents' logs", e);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof CommandException said
                    ? said
                    : new CommandException("a thread that touches pages failed: " + e.getCause(), e);
        }
    }
}
