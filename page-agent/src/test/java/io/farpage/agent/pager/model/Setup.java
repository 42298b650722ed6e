package io.farpage.agent.pager.model;

import java.util.SplittableRandom;

/**
 * How large a world is.
 *
 * @param pages of the guest
 * @param localPages of them at the end, whose home is the agent's own node
 * @param threads of the guest
 * @param limit pages that may be resident
 * @param prefetch pages that one fetch may bring
 * @param slots transfers under way at once
 * @param frames of staging memory
 */
record Setup(int pages, int localPages, int threads, int limit, int prefetch, int slots, int frames) {
    /** Something that makes trouble in few steps. */
    static Setup random(SplittableRandom random) {
        int pages = random.nextInt(2, 9);
        return new Setup(
                pages,
                random.nextInt(4) == 0 ? 1 : 0,
                random.nextInt(1, 4),
                random.nextInt(1, pages + 1),
                random.nextBoolean() ? 1 : 4,
                random.nextInt(1, 6),
                random.nextInt(2, World.MAX_FRAMES + 1));
    }

    /** As it is written in a test. */
    @Override
    public String toString() {
        return "new Setup(%d, %d, %d, %d, %d, %d, %d)"
                .formatted(pages, localPages, threads, limit, prefetch, slots, frames);
    }
}
