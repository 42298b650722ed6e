package io.farpage.bench.coherent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.bench.process.Cpus;
import io.farpage.guest.command.CommandException;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

final class HandsTest {
    private static final Duration LONG = Duration.ofMinutes(1);

    private static List<Integer> threads(int count) {
        return Collections.nCopies(count, Cpus.allowed().getFirst());
    }

    @Test
    void shouldSayWhatOneOfTheThreadsHasFound() {
        CommandException failed = assertThrows(
                CommandException.class,
                () -> new Hands(LONG).run(threads(2), (_, number) -> {
                    if (number == 1) {
                        throw new CommandException("page 7 holds 1, expected 2");
                    }
                }));
        assertEquals("page 7 holds 1, expected 2", failed.getMessage());
    }

    @Test
    void shouldGiveUpWhenAPageDoesNotCome() {
        CountDownLatch never = new CountDownLatch(1);
        CommandException failed = assertThrows(
                CommandException.class,
                () -> new Hands(Duration.ofMillis(1)).run(threads(1), (_, _) -> {
                    try {
                        never.await();
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                }));
        assertTrue(String.valueOf(failed.getMessage()).startsWith("the pages of a round did not come within"));
        never.countDown();
    }
}
