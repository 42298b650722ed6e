package io.farpage.agent.rest;

import io.farpage.rest.ProblemException;
import java.util.concurrent.Semaphore;

/** Limits how many spaces are saved or loaded at once. Thread-safe. */
public final class ImagePermits {
    /** Each has up to 8 MiB of pages in memory. */
    private static final int MAX_IMAGES = 4;

    private static final int RETRY_SECONDS = 5;

    private final Semaphore permits = new Semaphore(MAX_IMAGES);

    /** Saves or loads. */
    @FunctionalInterface
    interface Work {
        /** Does it. */
        void run() throws Exception;
    }

    /**
     * Runs work, if not too much is under way.
     *
     * @throws ProblemException 503 if so
     */
    void run(Work work) throws Exception {
        if (!permits.tryAcquire()) {
            throw new ProblemException(
                            503,
                            "overloaded",
                            "%d images of spaces are being saved or loaded, the most at once; try again later"
                                    .formatted(MAX_IMAGES))
                    .withRetryAfter(RETRY_SECONDS);
        }
        try {
            work.run();
        } finally {
            permits.release();
        }
    }
}
