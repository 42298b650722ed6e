package io.farpage.verbs.soft;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Deadlines;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A connection on which nothing happens costs no CPU, unless spinning was asked for. */
final class IdleCostTest {
    @ParameterizedTest
    @EnumSource(
            value = IdleStrategy.class,
            names = {"BLOCK", "ADAPTIVE"})
    void shouldUseNextToNoCpuWhileIdle(IdleStrategy idle) {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        try (Loopback pair = new Loopback(
                SoftOptions.DEFAULT.withResponders(new SoftOptions.Responders(idle, Duration.ofNanos(50_000))))) {
            pair.requireWorking();
            List<Thread> ours = Thread.getAllStackTraces().keySet().stream()
                    .filter(t -> t.getName().startsWith("soft-"))
                    .toList();
            assertFalse(ours.isEmpty());
            long start = System.nanoTime();
            long before = cpu(threads, ours);
            Deadlines.pass(Duration.ofMillis(500));
            long used = cpu(threads, ours) - before;
            long passed = System.nanoTime() - start;
            assertTrue(used < passed / 100, "used " + used + " ns of CPU in " + passed + " ns");
        }
    }

    private static long cpu(ThreadMXBean threads, List<Thread> of) {
        return of.stream()
                .mapToLong(t -> Math.max(0, threads.getThreadCpuTime(t.threadId())))
                .sum();
    }
}
