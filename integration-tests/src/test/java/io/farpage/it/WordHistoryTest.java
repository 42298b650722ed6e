package io.farpage.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.harness.PlainWord;
import io.farpage.it.harness.WordHistory;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;

/** The judge of what coherent spaces show. */
class WordHistoryTest {
    private final WordHistory history = new WordHistory();

    @Test
    void shouldFindNothingWhenLoadsFollowStores() {
        history.loaded(0, 1, 2);
        history.stored(5, 3, 6);
        history.loaded(5, 4, 5);
        history.loaded(5, 7, 8);
        history.stored(6, 9, 10);
        history.loaded(6, 11, 12);
        assertEquals(Optional.empty(), history.contradiction());
    }

    @Test
    void shouldAllowEitherValueWhileStoreIsUnderWay() {
        history.stored(5, 1, 2);
        history.stored(6, 3, 10);
        history.loaded(5, 4, 5);
        history.loaded(6, 6, 7);
        assertEquals(Optional.empty(), history.contradiction());
    }

    @Test
    void shouldFindAnOldValueAfterANewOne() {
        history.stored(5, 1, 2);
        history.stored(6, 3, 4);
        history.loaded(5, 5, 6);
        assertTrue(history.contradiction().isPresent());
    }

    @Test
    void shouldFindTwoThreadsThatDisagree() {
        history.stored(5, 1, 10);
        history.stored(6, 1, 10);
        history.loaded(5, 11, 12);
        history.loaded(6, 13, 14);
        history.loaded(5, 15, 16);
        assertTrue(history.contradiction().isPresent());
    }

    @Test
    void shouldFindAValueFromTheFuture() {
        history.loaded(5, 1, 2);
        history.stored(5, 3, 4);
        assertTrue(history.contradiction().isPresent());
    }

    @Test
    void shouldFindZeroAfterAStore() {
        history.stored(5, 1, 2);
        history.loaded(0, 3, 4);
        assertTrue(history.contradiction().isPresent());
    }

    @Test
    void shouldJudgeRandomHistoriesOfARealRegister() {
        SplittableRandom random = new SplittableRandom(5);
        long value = 0;
        long time = 1;
        for (int i = 0; i < 10_000; i++) {
            // Takes effect at a time between its begin and its end, which overlaps with its neighbours.
            time += 10;
            long began = time - random.nextInt(25);
            long ended = time + random.nextInt(25);
            if (random.nextBoolean()) {
                value = i + 1L;
                history.stored(value, began, ended);
            } else {
                history.loaded(value, began, ended);
            }
        }
        assertEquals(Optional.empty(), history.contradiction());
        history.loaded(value - 5_000, time + 100, time + 101);
        assertTrue(history.contradiction().isPresent());
    }

    /** The memory of one process is what all of this is compared with, so it must stand the comparison. */
    @Test
    @EnabledOnOs(architectures = "amd64", disabledReason = "StoreInstruction is machine code for x86-64")
    void shouldFindNothingWhenThreadsShareOneMemory() throws InterruptedException {
        WordHistory[] of = {new WordHistory(), new WordHistory(), new WordHistory()};
        try (PlainWord word = new PlainWord()) {
            List<Thread> threads = new ArrayList<>();
            for (int number = 0; number < of.length; number++) {
                threads.add(word.touch(of[number], number + 1, 200_000));
            }
            for (Thread thread : threads) {
                thread.join();
            }
        }
        for (WordHistory each : of) {
            history.add(each);
        }
        assertEquals(Optional.empty(), history.contradiction());
    }
}
