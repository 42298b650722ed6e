package io.farpage.agent.data.pager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class ReadaheadPredictorTest {
    private final ReadaheadPredictor streams = new ReadaheadPredictor(32);

    @Test
    void shouldDoubleTheWindowOfASequentialReaderUpToTheLimit() {
        int page = 100;
        int[] windows = {1, 4, 8, 16, 32, 32};
        for (int window : windows) {
            assertEquals(window, streams.fault(page));
            page += window;
        }
        assertEquals(3 + 7 + 15 + 31, streams.hits().get());
    }

    @Test
    void shouldFollowSeveralReadersSideBySide() {
        for (int reader = 0; reader < 10; reader++) {
            assertEquals(1, streams.fault(reader * 10_000));
        }
        for (int reader = 0; reader < 10; reader++) {
            assertEquals(4, streams.fault(reader * 10_000 + 1));
        }
    }

    @Test
    void shouldGoOnBehindWhatWasHad() {
        streams.fault(7);
        assertEquals(4, streams.fault(8));
        streams.truncated(2, 2);
        assertEquals(4, streams.fault(10));
        assertEquals(8, streams.fault(14));
    }

    @Test
    void shouldKeepTheWindowWhenThereWasRoomForLess() {
        streams.fault(7);
        assertEquals(4, streams.fault(8));
        assertEquals(8, streams.fault(12));
        streams.throttled(3, 3);
        assertEquals(8, streams.fault(15), "not 4, and nothing is forgotten");
        assertEquals(16, streams.fault(23));
        assertEquals(3 + 2 + 7, streams.hits().get(), "what was not fetched was of no use");
    }

    @Test
    void shouldGoOnBehindPagesThatWereHereAlready() {
        streams.fault(7);
        assertEquals(4, streams.fault(8));
        streams.covered(4 + 2, 3);
        assertEquals(8, streams.fault(14));
        assertEquals(3 - 1, streams.hits().get(), "of the four one was here");
    }

    @Test
    void shouldForgetAFaultThatThereWasNoRoomFor() {
        streams.fault(7);
        assertEquals(4, streams.fault(8));
        for (int tries = 0; tries < 5; tries++) {
            assertEquals(8, streams.fault(12));
            streams.undo();
        }
        assertEquals(8, streams.fault(12));
        assertEquals(16, streams.fault(20));
        assertEquals(3 + 7, streams.hits().get());
        assertEquals(0, streams.wasted().get());
    }

    /** A fault that belongs to no stream pushes out the oldest one, and is one difference more to find strides by. */
    @Test
    void shouldPutBackWhatAFaultThatThereWasNoRoomForPushedOut() {
        for (int reader = 0; reader < 16; reader++) {
            streams.fault(reader * 10_000);
        }
        for (int tries = 0; tries < 20; tries++) {
            assertEquals(1, streams.fault(7_000_000 + 17 * tries));
            streams.undo();
        }
        assertEquals(0, streams.strides());
        for (int reader = 0; reader < 16; reader++) {
            assertEquals(4, streams.fault(reader * 10_000 + 1), "reader " + reader);
        }
    }

    @Test
    void shouldGiveRandomReadersTheirPageAlone() {
        SplittableRandom random = new SplittableRandom(1);
        int more = 0;
        for (int i = 0; i < 10_000; i++) {
            more += streams.fault(random.nextInt(1 << 24)) - 1 + streams.strides();
        }
        assertTrue(more < 10, more + " pages prefetched in vain");
    }

    @Test
    void shouldFindAStrideByMajority() {
        int page = 5;
        int ahead = 0;
        for (int i = 0; i < 20; i++) {
            assertEquals(1, streams.fault(page));
            assertTrue(streams.strides() == 0 || streams.stride() == 17, "stride " + streams.stride());
            ahead = streams.strides();
            // What was prefetched does not fault.
            page += 17 * (ahead + 1);
        }
        assertEquals(8, ahead);
    }

    @Test
    void shouldFetchNothingAheadWhenExactlyHalfOfTheStridesAgree() {
        int page = 5;
        streams.fault(page);
        for (int pair = 1; pair <= 8; pair++) {
            for (int stride : new int[] {17, 1_000 * pair}) {
                page += stride;
                assertEquals(1, streams.fault(page));
                assertEquals(0, streams.strides(), "after a difference of " + stride + " in pair " + pair);
            }
        }
    }

    @Test
    void shouldFetchOnePageAheadWhenOneMoreThanHalfOfTheStridesAgree() {
        int page = 5;
        streams.fault(page);
        int[] strides = {17, 1_000, 17, 2_000, 17, 3_000, 17, 17};
        for (int stride : strides) {
            page += stride;
            streams.fault(page);
        }
        assertEquals(1, streams.strides());
        assertEquals(17, streams.stride());
    }

    @Test
    void shouldCountFaultOnceWhenItIsTakenBackAndToldAgain() {
        streams.fault(5);
        for (int tries = 0; tries < 8; tries++) {
            streams.fault(1_005);
            streams.undo();
        }
        streams.fault(1_005);
        assertEquals(0, streams.strides(), "one difference is no majority");
    }

    @Test
    void shouldFindStrideOfFaultsThatWereTakenBackAndToldAgain() {
        streams.fault(5);
        for (int fault = 1; fault <= 5; fault++) {
            streams.fault(5 + 17 * fault);
            streams.undo();
            streams.fault(5 + 17 * fault);
            assertEquals(fault < 5 ? 0 : 1, streams.strides(), "after " + fault + " equal differences");
        }
        assertEquals(17, streams.stride());
    }

    @Test
    void shouldFollowAStrideBackwards() {
        int page = 100_000;
        for (int i = 0; i < 20; i++) {
            streams.fault(page);
            page += -3 * (streams.strides() + 1);
        }
        assertEquals(-3, streams.stride());
        assertEquals(8, streams.strides());
    }

    @Test
    void shouldFetchNothingAheadWhenTurnedOff() {
        ReadaheadPredictor off = new ReadaheadPredictor(1);
        for (int page = 0; page < 100; page++) {
            assertEquals(1, off.fault(page));
            assertEquals(0, off.strides());
        }
    }
}
