package io.farpage.agent.data.coherence;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * The pages that members take from each other most often, as far as a table of bounded size can tell: a page that is
 * not in it takes the place of the one with the fewest moves, and inherits their number (Metwally, Agrawal, El Abbadi:
 * the Space-Saving algorithm, 2005). A number may so be too high, by at most that of the least. The shard's thread
 * only.
 */
final class Bounces {
    private static final int SLOTS = 32;
    private static final int NONE = -1;

    private final int[] pages = new int[SLOTS];
    private final long[] moves = new long[SLOTS];
    private final int[] from = new int[SLOTS];
    private final int[] to = new int[SLOTS];

    /**
     * A page.
     *
     * @param page index in the directory
     * @param moves how often one member has taken it from another
     * @param from number of the member that had it before the last move
     * @param to number of the member that has taken it then
     */
    record Bounce(int page, long moves, int from, int to) {}

    Bounces() {
        Arrays.fill(pages, NONE);
    }

    void moved(int page, int before, int after) {
        int slot = 0;
        for (int i = 0; i < SLOTS; i++) {
            if (pages[i] == page) {
                slot = i;
                break;
            }
            if (moves[i] < moves[slot]) {
                slot = i;
            }
        }
        pages[slot] = page;
        moves[slot]++;
        from[slot] = before;
        to[slot] = after;
    }

    /** The pages with the most moves first. */
    List<Bounce> most(int count) {
        List<Bounce> all = new ArrayList<>();
        for (int i = 0; i < SLOTS; i++) {
            if (pages[i] != NONE) {
                all.add(new Bounce(pages[i], moves[i], from[i], to[i]));
            }
        }
        all.sort(Comparator.comparingLong(Bounce::moves).reversed());
        return all.subList(0, Math.min(count, all.size()));
    }
}
