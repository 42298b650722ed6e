package io.farpage.agent.data.pager.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class ReadaheadPredictorTest {
    private final ReadaheadPredictor predictor = new ReadaheadPredictor(32);

    @Test
    void shouldDoubleWindowUpToLimitWhenReaderIsSequential() {
        int page = 100;
        int[] windows = {1, 4, 8, 16, 32, 32};
        for (int window : windows) {
            assertEquals(window, predictor.fault(page));
            page += window;
        }
        assertEquals(3 + 7 + 15 + 31, predictor.hits().get());
    }

    @Test
    void shouldFollowEachStreamWhenSeveralReadersInterleave() {
        for (int reader = 0; reader < 10; reader++) {
            assertEquals(1, predictor.fault(reader * 10_000));
        }
        for (int reader = 0; reader < 10; reader++) {
            assertEquals(4, predictor.fault(reader * 10_000 + 1));
        }
    }

    @Test
    void shouldContinueBehindFetchedPagesWhenWindowIsTruncated() {
        predictor.fault(7);
        assertEquals(4, predictor.fault(8));
        predictor.truncated(2, 2);
        assertEquals(4, predictor.fault(10));
        assertEquals(8, predictor.fault(14));
    }

    @Test
    void shouldKeepWindowWhenLimitThrottlesIt() {
        predictor.fault(7);
        assertEquals(4, predictor.fault(8));
        assertEquals(8, predictor.fault(12));
        predictor.throttled(3, 3);
        assertEquals(8, predictor.fault(15), "the window stays at 8");
        assertEquals(16, predictor.fault(23));
        assertEquals(3 + 2 + 7, predictor.hits().get(), "pages that were not fetched are not hits");
    }

    @Test
    void shouldContinueBehindResidentPagesWhenWindowEndsInThem() {
        predictor.fault(7);
        assertEquals(4, predictor.fault(8));
        predictor.covered(4 + 2, 3);
        assertEquals(8, predictor.fault(14));
        assertEquals(3 - 1, predictor.hits().get(), "one of the four was resident");
    }

    @Test
    void shouldForgetFaultWhenItIsUndone() {
        predictor.fault(7);
        assertEquals(4, predictor.fault(8));
        for (int tries = 0; tries < 5; tries++) {
            assertEquals(8, predictor.fault(12));
            predictor.undo();
        }
        assertEquals(8, predictor.fault(12));
        assertEquals(16, predictor.fault(20));
        assertEquals(3 + 7, predictor.hits().get());
        assertEquals(0, predictor.wasted().get());
    }

    /** A fault that belongs to no stream replaces the oldest stream, and adds a difference to the vote on strides. */
    @Test
    void shouldRestoreOldestStreamWhenFaultIsUndone() {
        for (int reader = 0; reader < 16; reader++) {
            predictor.fault(reader * 10_000);
        }
        for (int tries = 0; tries < 20; tries++) {
            assertEquals(1, predictor.fault(7_000_000 + 17 * tries));
            predictor.undo();
        }
        assertEquals(0, predictor.strides());
        for (int reader = 0; reader < 16; reader++) {
            assertEquals(4, predictor.fault(reader * 10_000 + 1), "reader " + reader);
        }
    }

    @Test
    void shouldFetchOnePageWhenReaderIsRandom() {
        SplittableRandom random = new SplittableRandom(1);
        int more = 0;
        for (int i = 0; i < 10_000; i++) {
            more += predictor.fault(random.nextInt(1 << 24)) - 1 + predictor.strides();
        }
        assertTrue(more < 10, more + " pages prefetched for nothing");
    }

    @Test
    void shouldFetchEightPagesAheadWhenStrideRepeats() {
        int page = 5;
        int ahead = 0;
        for (int i = 0; i < 20; i++) {
            assertEquals(1, predictor.fault(page));
            assertTrue(predictor.strides() == 0 || predictor.stride() == 17, "stride " + predictor.stride());
            ahead = predictor.strides();
            // Prefetched pages do not fault.
            page += 17 * (ahead + 1);
        }
        assertEquals(8, ahead);
    }

    @Test
    void shouldFetchNothingAheadWhenExactlyHalfOfTheStridesAgree() {
        int page = 5;
        predictor.fault(page);
        for (int pair = 1; pair <= 8; pair++) {
            for (int stride : new int[] {17, 1_000 * pair}) {
                page += stride;
                assertEquals(1, predictor.fault(page));
                assertEquals(0, predictor.strides(), "after a difference of " + stride + " in pair " + pair);
            }
        }
    }

    @Test
    void shouldFetchOnePageAheadWhenOneMoreThanHalfOfTheStridesAgree() {
        int page = 5;
        predictor.fault(page);
        int[] strides = {17, 1_000, 17, 2_000, 17, 3_000, 17, 17};
        for (int stride : strides) {
            page += stride;
            predictor.fault(page);
        }
        assertEquals(1, predictor.strides());
        assertEquals(17, predictor.stride());
    }

    @Test
    void shouldCountFaultOnceWhenItIsUndoneAndRecordedAgain() {
        predictor.fault(5);
        for (int tries = 0; tries < 8; tries++) {
            predictor.fault(1_005);
            predictor.undo();
        }
        predictor.fault(1_005);
        assertEquals(0, predictor.strides(), "one difference is not a majority");
    }

    @Test
    void shouldFindStrideWhenFaultsAreUndoneAndRecordedAgain() {
        predictor.fault(5);
        for (int fault = 1; fault <= 5; fault++) {
            predictor.fault(5 + 17 * fault);
            predictor.undo();
            predictor.fault(5 + 17 * fault);
            assertEquals(fault < 5 ? 0 : 1, predictor.strides(), "after " + fault + " equal differences");
        }
        assertEquals(17, predictor.stride());
    }

    @Test
    void shouldFetchAheadWhenStrideIsNegative() {
        int page = 100_000;
        for (int i = 0; i < 20; i++) {
            predictor.fault(page);
            page += -3 * (predictor.strides() + 1);
        }
        assertEquals(-3, predictor.stride());
        assertEquals(8, predictor.strides());
    }

    @Test
    void shouldFetchNothingAheadWhenPredictionIsOff() {
        ReadaheadPredictor off = new ReadaheadPredictor(1);
        for (int page = 0; page < 100; page++) {
            assertEquals(1, off.fault(page));
            assertEquals(0, off.strides());
        }
    }
}
