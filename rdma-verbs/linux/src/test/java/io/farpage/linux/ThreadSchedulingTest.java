package io.farpage.linux;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Threads that move pages run at once, and leave every CPU to others for half of the time. */
class ThreadSchedulingTest {
    private static final long STORM_NANOS = TimeUnit.SECONDS.toNanos(3);

    @Test
    void shouldSetRealTimePriorityOrNameReasonAndFix() throws Exception {
        ThreadScheduling scheduling = ThreadScheduling.realTime(1);
        String stat = onThread(() -> {
            scheduling.start();
            return Files.readString(Path.of("/proc/self/task/" + NativeThread.id() + "/stat"));
        });
        String said = scheduling.describe();
        if (scheduling.isRealTime()) {
            // proc_pid_stat(5): rt_priority and policy are fields 40 and 41, the 38th and 39th after the name.
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
            assertEquals("1 1", fields[37] + " " + fields[38]);
            assertTrue(said.startsWith("real-time priority 1, at most 50 of 100 ms"), said);
        } else {
            assertTrue(said.contains("EPERM") && said.contains("CAP_SYS_NICE") && said.contains("RLIMIT_RTPRIO"), said);
        }
    }

    @Test
    void shouldLeaveAThreadAloneThatIsOrdinary() throws Exception {
        ThreadScheduling scheduling = ThreadScheduling.ordinary();
        int policy = onThread(() -> {
            scheduling.start();
            scheduling.onDutyCycle();
            return policy();
        });
        assertEquals(0, policy);
        assertEquals("ordinary", scheduling.describe());
        assertFalse(scheduling.isRealTime());
    }

    /** A thread that moves pages gives its priority up and takes it again for as long as it is busy. */
    @Test
    void shouldAllocateNothingToChangeHowAThreadIsScheduled() throws Exception {
        com.sun.management.ThreadMXBean threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        long bytes = onThread(() -> {
            int nice = NativeThread.nice();
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
            long allocated;
            // Until the call is compiled, what runs it allocates.
            do {
                long before = threads.getCurrentThreadAllocatedBytes();
                long overhead = threads.getCurrentThreadAllocatedBytes() - before;
                long start = threads.getCurrentThreadAllocatedBytes();
                for (int i = 0; i < 20_000; i++) {
                    NativeThread.schedule(NativeThread.SCHED_OTHER, nice, 0, 0);
                }
                allocated = threads.getCurrentThreadAllocatedBytes() - start - overhead;
            } while (allocated != 0 && System.nanoTime() < deadline);
            return allocated;
        });
        assertEquals(0, bytes);
    }

    /**
     * A storm: threads that never sleep, and an ordinary process for each CPU that wants all of it. What the storm does
     * not take is left to that process and to whatever else runs. On a quiet machine, one thread for each CPU leaves a
     * quarter, since the other half is shared alike; three leave an eighth. Without a bound, the kernel leaves a
     * twentieth.
     */
    @ParameterizedTest
    @Tag("soak")
    @CsvSource({"1, 0.20", "3, 0.09"})
    void shouldLeaveOrdinaryProcessesTheirShareOfEveryCpuDuringAStorm(int threadsOfCpu, double least) throws Exception {
        int cpus = Runtime.getRuntime().availableProcessors();
        AtomicBoolean stop = new AtomicBoolean();
        List<ThreadScheduling> storm = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        List<Process> ordinary = new ArrayList<>();
        try {
            for (int cpu = 0; cpu < cpus; cpu++) {
                ordinary.add(new ProcessBuilder("sh", "-c", "while :; do :; done").start());
            }
            for (int i = 0; i < threadsOfCpu * cpus; i++) {
                ThreadScheduling scheduling = ThreadScheduling.realTime(1);
                storm.add(scheduling);
                threads.add(Thread.ofPlatform().daemon().start(() -> {
                    scheduling.start();
                    while (!stop.get()) {
                        scheduling.onDutyCycle();
                    }
                }));
            }
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
            while (storm.stream().anyMatch(s -> s.describe().equals("not started")) && System.nanoTime() < deadline) {
                TimeUnit.MILLISECONDS.sleep(10);
            }
            assumeTrue(storm.getFirst().describe().startsWith("real-time"), storm.getFirst()::describe);
            long start = System.nanoTime();
            long stormBefore = cpuNanos(threads);
            double ordinaryBefore = cpuSeconds(ordinary);
            TimeUnit.NANOSECONDS.sleep(STORM_NANOS);
            double all = (double) (System.nanoTime() - start) * cpus;
            double left = 1 - (cpuNanos(threads) - stormBefore) / all;
            double share = (cpuSeconds(ordinary) - ordinaryBefore) * 1e9 / all;
            String seen = "the storm left %.1f %% of %d CPUs, and the ordinary processes had %.1f %%"
                    .formatted(100 * left, cpus, 100 * share);
            System.out.println(seen);
            assertTrue(left > least, seen);
            assertTrue(share > 0, seen);
            assertTrue(storm.stream().anyMatch(s -> s.pauses() > 0), "the budget was never used up");
        } finally {
            stop.set(true);
            ordinary.forEach(Process::destroyForcibly);
            for (Thread thread : threads) {
                thread.join();
            }
        }
    }

    private static long cpuNanos(List<Thread> threads) {
        ThreadMXBean bean = ManagementFactory.getThreadMXBean();
        return threads.stream()
                .mapToLong(thread -> bean.getThreadCpuTime(thread.threadId()))
                .sum();
    }

    @Test
    void shouldRegainPriorityInTheNextWindow() throws Exception {
        ThreadScheduling scheduling = ThreadScheduling.realTime(1);
        boolean again = onThread(() -> {
            scheduling.start();
            assumeTrue(scheduling.isRealTime(), scheduling.describe());
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
            while (scheduling.pauses() < 2 && System.nanoTime() - deadline < 0) {
                scheduling.onDutyCycle();
            }
            while (!scheduling.isRealTime() && System.nanoTime() - deadline < 0) {
                scheduling.onDutyCycle();
            }
            return scheduling.isRealTime() && policy() == 1;
        });
        assertTrue(again, scheduling.describe());
        assertTrue(scheduling.pauses() >= 2);
    }

    private static int policy() throws IOException {
        String stat = Files.readString(Path.of("/proc/self/task/" + NativeThread.id() + "/stat"));
        return Integer.parseInt(stat.substring(stat.lastIndexOf(')') + 2).split(" ")[38]);
    }

    private static double cpuSeconds(List<Process> processes) {
        return processes.stream()
                .mapToDouble(p -> p.info().totalCpuDuration().orElseThrow().toNanos() / 1e9)
                .sum();
    }

    private static <T> T onThread(java.util.concurrent.Callable<T> work) throws Exception {
        CompletableFuture<T> result = new CompletableFuture<>();
        Thread thread = Thread.ofPlatform().start(() -> {
            try {
                result.complete(work.call());
            } catch (Throwable t) {
                result.completeExceptionally(t);
            }
        });
        thread.join();
        try {
            return result.get();
        } catch (java.util.concurrent.ExecutionException e) {
            if (e.getCause() instanceof org.opentest4j.TestAbortedException aborted) {
                throw aborted;
            }
            throw e;
        }
    }
}
