package io.farpage.agent.control;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.it.deadlines.Deadlines;
import java.net.URI;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

final class ControlThreadTest {
    private static final Duration LONG = Duration.ofSeconds(20);
    private static final Duration SHORT = Duration.ofMillis(1);

    private final AtomicInteger steps = new AtomicInteger();

    private static ControlThread start(Duration first, Duration afterFailure, ControlThread.Step step) {
        ControlThread thread =
                new ControlThread("test", new ControlThread.Pauses(first, afterFailure, Duration.ofSeconds(5)), step);
        thread.start();
        return thread;
    }

    @Test
    void shouldRunTheStepWhenItIsWokenAndNotBefore() {
        try (ControlThread thread = start(LONG, LONG, () -> {
            steps.incrementAndGet();
            return ControlThread.UNTIL_WOKEN;
        })) {
            assertEquals(0, steps.get());
            thread.wake();
            Deadlines.await("the first step", Deadlines.SHORT).until(() -> steps.get() == 1);
            thread.wake();
            Deadlines.await("the next step", Deadlines.SHORT).until(() -> steps.get() == 2);
        }
    }

    @Test
    void shouldRunTheStepAgainAfterThePauseThatItAskedFor() {
        try (ControlThread _ = start(Duration.ZERO, LONG, () -> steps.incrementAndGet() < 3 ? SHORT : LONG)) {
            Deadlines.await("three steps", Deadlines.SHORT).until(() -> steps.get() == 3);
        }
    }

    @Test
    void shouldGoOnWhenTheCoordinatorIsAwayOrTheStepThrows() {
        // Nothing listens on port 1.
        try (CoordinatorClient away = new CoordinatorClient(URI.create("http://127.0.0.1:1"), Duration.ofSeconds(2));
                ControlThread _ = start(Duration.ZERO, SHORT, () -> {
                    switch (steps.incrementAndGet()) {
                        case 1 -> away.hosted("a");
                        case 2 -> throw new IllegalStateException("a fault");
                        default -> {}
                    }
                    return LONG;
                })) {
            Deadlines.await("three steps", Deadlines.SHORT).until(() -> steps.get() == 3);
        }
    }

    @Test
    void shouldEndAfterTheStepThatIsUnderWay() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        ControlThread[] self = new ControlThread[1];
        self[0] = new ControlThread("test", new ControlThread.Pauses(LONG, LONG, LONG), () -> {
            begun.countDown();
            while (!self[0].isStopping()) {
                Thread.onSpinWait();
            }
            steps.incrementAndGet();
            return Duration.ZERO;
        });
        self[0].start();
        self[0].wake();
        begun.await();
        self[0].close();
        assertEquals(1, steps.get(), "the step has ended, and is not run again");
    }

    @Test
    void shouldInterruptAStepThatWaits() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        ControlThread thread = start(Duration.ZERO, LONG, () -> {
            begun.countDown();
            Thread.sleep(LONG);
            return LONG;
        });
        begun.await();
        Deadlines.Wait end = Deadlines.begin("the end of the step", Duration.ofSeconds(5));
        thread.closeNow();
        end.check();
    }

    @Test
    void shouldCloseAThreadThatWasNeverStarted() {
        new ControlThread("test", new ControlThread.Pauses(LONG, LONG, LONG), () -> LONG).close();
    }
}
