package io.farpage.agent.control.link;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.verbs.QueuePair;
import java.lang.reflect.Proxy;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

final class DestroyerTest {
    @SuppressWarnings("ReferenceEquality") // a queue pair equals itself alone
    private static QueuePair counting(AtomicInteger closed) {
        return (QueuePair) Proxy.newProxyInstance(
                QueuePair.class.getClassLoader(),
                new Class<?>[] {QueuePair.class},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "equals" -> proxy == arguments[0];
                    case "hashCode" -> System.identityHashCode(proxy);
                    case "close" -> closed.incrementAndGet();
                    default -> throw new UnsupportedOperationException(method.getName());
                });
    }

    /** Keeps virtual threads that are started later from running. */
    private static void occupyCarriers(AtomicBoolean released) {
        for (int i = 0; i < Runtime.getRuntime().availableProcessors(); i++) {
            Thread.ofVirtual().start(() -> {
                while (!released.get()) {
                    Thread.onSpinWait();
                }
            });
        }
    }

    @Test
    void shouldDestroyWhatItHasNotBegunWithWhenItIsStopped() throws Exception {
        AtomicInteger closed = new AtomicInteger();
        AtomicBoolean released = new AtomicBoolean();
        Destroyer destroyer = new Destroyer(() -> {});
        FutureTask<Boolean> stop = new FutureTask<>(() -> destroyer.stop(Deadlines.of(Deadlines.SHORT)));
        occupyCarriers(released);
        try {
            destroyer.destroy(counting(closed), "a link", () -> {});
            Thread stopping = Thread.ofPlatform().start(stop);
            Deadlines.await("the wait for the destruction", Deadlines.SHORT)
                    .until(() -> stopping.getState() == Thread.State.TIMED_WAITING);
        } finally {
            released.set(true);
        }
        assertTrue(stop.get());
        assertEquals(1, closed.get());
    }
}
