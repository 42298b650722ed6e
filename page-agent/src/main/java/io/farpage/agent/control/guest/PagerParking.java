package io.farpage.agent.control.guest;

import io.farpage.agent.data.pager.Pager;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.ObjIntConsumer;

/**
 * Parks the pagers of one guest together. Each may end its part by itself when its slice faults; then the others
 * follow. Thread-safe once the pagers are made.
 */
final class PagerParking {
    private final List<SlicePager> pagers;
    private final Optional<KeptGuest> kept;
    private volatile Optional<Parked> parked = Optional.empty();

    /**
     * @param pagers of the guest, which are made later
     * @param kept where a successor finds whether the guest is parked
     */
    PagerParking(List<SlicePager> pagers, Optional<KeptGuest> kept) {
        this.pagers = pagers;
        this.kept = kept;
    }

    /** Parks the pagers, before they are started, if an earlier process has parked the guest. */
    synchronized void adopt() {
        parked = kept.flatMap(one -> one.record().parked());
        parked.ifPresent(as -> each(as.keepPages(), (one, pages) -> one.pager().park(pages)));
    }

    /** The fewest pages that may stay resident. */
    long leastPages() {
        return (long) leastOfOne() * pagers.size();
    }

    private int leastOfOne() {
        return Pager.leastParkedPages(pagers.getFirst().pager().status().pageSize());
    }

    /** Shares the pages that stay among the pagers, by the sizes of their slices. */
    private void each(long keepPages, ObjIntConsumer<SlicePager> park) {
        long all = pagers.stream().mapToLong(one -> one.slice().pages()).sum();
        long above = keepPages - leastPages();
        for (SlicePager one : pagers) {
            park.accept(one, leastOfOne() + (int) (above * one.slice().pages() / all));
        }
    }

    /**
     * Parks the guest, or changes how many of its pages stay.
     *
     * @param keepPages {@link #leastPages} or more
     * @param residentPages of the guest now
     * @throws TimeoutException if a shard does not answer; it parks its pagers when it does
     */
    synchronized void park(int keepPages, long residentPages) throws TimeoutException {
        List<CompletableFuture<Void>> begun = new ArrayList<>();
        each(keepPages, (one, pages) -> begun.add(one.host().park(one.pager(), pages)));
        long before = parked.map(Parked::pagesBefore).orElse(residentPages);
        set(Optional.of(new Parked(keepPages, before, System.currentTimeMillis() / 1000)));
        try {
            // A pager that has not begun to park looks like one that has ended it.
            CompletableFuture.allOf(begun.toArray(CompletableFuture<?>[]::new))
                    .get(PagerHost.TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Ends parking. */
    synchronized void unpark() {
        pagers.forEach(one -> one.host().unpark(one.pager()));
        set(Optional.empty());
    }

    private void set(Optional<Parked> now) {
        parked = now;
        kept.ifPresent(one -> one.parked(now));
    }

    /** Whether the guest is parked, and how. */
    Optional<Parked> parked() {
        return parked;
    }

    /** Unparks all pagers of a parked guest if one of them was woken by its faults. Returns whether that was so. */
    synchronized boolean unparkIfWoken() {
        boolean woken = parked.isPresent()
                && !pagers.stream().allMatch(one -> one.pager().isParked());
        if (woken) {
            unpark();
        }
        return woken;
    }
}
