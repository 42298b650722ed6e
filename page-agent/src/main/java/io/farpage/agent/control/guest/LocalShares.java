package io.farpage.agent.control.guest;

import io.farpage.agent.data.pager.page.PagerOptions;
import java.util.Arrays;

/**
 * Shares the local limit of a guest among its pagers: each has a limit, and their sum never exceeds the guest's. Limits
 * move to the pagers that fault, in two steps, since a pager whose limit was lowered may hold more for a while:
 * {@link #reclaim} lowers some; once these pagers have applied their limits and reported what they hold, {@link #grant}
 * raises others by what is really free. So the sum, over all pagers, of the larger of limit and pages held never grows
 * beyond what the guest may have.
 *
 * <p>A pager wants more if it has nearly reached its limit and still faults. It gets what others leave unused, and an
 * eighth at a time of the limit of pagers that fault less than half as often per page. Not thread-safe.
 */
final class LocalShares {
    private static final int MIN = PagerOptions.MIN_LOCAL_PAGES;
    private static final int STEP = 8;

    private final int[] pages;
    private final int[] limits;
    private final long[] faults;
    private final long[] demand;
    private final boolean[] wants;
    private int cap;
    private long ceiling;

    /**
     * Shares in proportion to the slices' sizes.
     *
     * @param cap pages that all may hold together, {@link #minLimit} or more; {@link Integer#MAX_VALUE} for no limit
     * @param pages of each pager's slice
     */
    LocalShares(int cap, int[] pages) {
        this.cap = cap;
        this.pages = pages.clone();
        int count = pages.length;
        limits = new int[count];
        faults = new long[count];
        demand = new long[count];
        wants = new boolean[count];
        long all = Arrays.stream(pages).asLongStream().sum();
        for (int i = 0; i < count; i++) {
            limits[i] = isUnlimited() ? cap : MIN + (int) ((cap - minLimit(count)) * pages[i] / all);
        }
        ceiling = bound(new long[count]);
    }

    /** The lowest limit that can be shared among {@code pagers} pagers. */
    static long minLimit(int pagers) {
        return (long) MIN * pagers;
    }

    /** Pages that all may hold together. */
    int cap() {
        return cap;
    }

    int limit(int pager) {
        return limits[pager];
    }

    /** Upper bound of the pages that all have held together at any time so far. */
    long ceiling() {
        return ceiling;
    }

    boolean isUnlimited() {
        return cap == Integer.MAX_VALUE;
    }

    /** Changes what all may hold together, {@link #minLimit} or more: lowers all limits in proportion if it is less. */
    void resize(int newCap) {
        cap = newCap;
        if (isUnlimited() || limits.length == 1) {
            Arrays.fill(limits, cap);
            return;
        }
        long above = Arrays.stream(limits).asLongStream().sum() - minLimit(limits.length);
        long aboveAllowed = cap - minLimit(limits.length);
        if (above <= aboveAllowed) {
            return;
        }
        for (int i = 0; i < limits.length; i++) {
            limits[i] = MIN + (int) ((limits[i] - MIN) * aboveAllowed / above);
        }
    }

    /**
     * Lowers limits in favour of pagers that fault more.
     *
     * @param held pages of each pager that are resident or being fetched
     * @param faultsSoFar faults of each pager that needed a frame, since it began
     * @return whether any was lowered
     */
    boolean reclaim(long[] held, long[] faultsSoFar) {
        int neediest = updateDemand(held, faultsSoFar);
        long wanted = neediest < 0 ? 0 : wanted() - Math.max(0, cap - bound(held));
        boolean lowered = false;
        for (int i = 0; i < limits.length && wanted > 0; i++) {
            long unused = wants[i] ? 0 : unused(i, held[i]) / 2;
            long step = i != neediest && isNeedier(neediest, 2, i) ? limits[i] / STEP : 0;
            int reclaimed = (int) Math.min(Math.min(Math.max(unused, step), limits[i] - MIN), wanted);
            wants[i] &= reclaimed == 0;
            lowered |= reclaimed > 0;
            limits[i] -= reclaimed;
            wanted -= reclaimed;
        }
        return lowered;
    }

    /**
     * Counts the faults of each pager since the last call, and decides which want more pages. Returns the one that
     * needs pages most, or -1.
     */
    private int updateDemand(long[] held, long[] faultsSoFar) {
        int neediest = -1;
        for (int i = 0; i < limits.length; i++) {
            long fresh = faultsSoFar[i] - faults[i];
            faults[i] = faultsSoFar[i];
            demand[i] = (demand[i] + fresh) / 2;
            wants[i] = fresh > 0 && limits[i] < pages[i] && unused(i, held[i]) == 0;
            if (wants[i] && (neediest < 0 || isNeedier(i, 1, neediest))) {
                neediest = i;
            }
        }
        return neediest;
    }

    /** Pages that pagers which want more can use soon: none gets more than twice its limit at once. */
    private long wanted() {
        long wanted = 0;
        for (int i = 0; i < limits.length; i++) {
            wanted += wants[i] ? Math.min(limits[i], pages[i] - limits[i]) : 0;
        }
        return wanted;
    }

    /** Whether a pager has more than {@code times} as many faults per page of its limit as another. */
    private boolean isNeedier(int pager, int times, int other) {
        return (double) demand[pager] * limits[other] > (double) times * demand[other] * limits[pager];
    }

    /** Pages of a pager's limit that it does not use. It keeps some free for future faults. */
    private long unused(int pager, long held) {
        return Math.max(0, limits[pager] - limits[pager] / STEP - MIN - held);
    }

    /**
     * Raises the limits of pagers that want more by pages that no limit has yet.
     *
     * @param held pages of each pager that are resident or being fetched, as reported after it had applied its limit
     */
    void grant(long[] held) {
        long spare = cap - bound(held);
        long all = 0;
        for (int i = 0; i < limits.length; i++) {
            all += wants[i] ? demand[i] + 1 : 0;
        }
        for (int i = 0; i < limits.length && spare > 0; i++) {
            if (wants[i]) {
                // Raising its limit to what it holds already costs nothing.
                long free = Math.max(0, held[i] - limits[i]);
                int more = (int) Math.min(spare * (demand[i] + 1) / all + free, pages[i] - limits[i]);
                all -= demand[i] + 1;
                spare -= Math.max(0, more - free);
                limits[i] += more;
            }
        }
        ceiling = Math.max(ceiling, bound(held));
    }

    /** The most that all may hold together before limits are raised again. */
    private long bound(long[] held) {
        long bound = 0;
        for (int i = 0; i < limits.length; i++) {
            bound += Math.max(limits[i], held[i]);
        }
        return bound;
    }
}
