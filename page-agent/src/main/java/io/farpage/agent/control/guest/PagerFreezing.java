package io.farpage.agent.control.guest;

import io.farpage.agent.data.pager.evict.FreezeStatus;
import io.farpage.agent.data.pager.page.PresenceMap;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.function.Supplier;

/** Freezes the pages of all pagers of one guest together, for a snapshot. One thread at a time. */
final class PagerFreezing {
    /** Pages that a shard looks at before it serves others. */
    private static final int DESCRIBED = 65_536;

    private final List<SlicePager> pagers;
    /** What the homes have beside the guest's memory. */
    private final Supplier<PresenceMap> outside;

    /** @param pagers of the guest, which are made later */
    PagerFreezing(List<SlicePager> pagers, Supplier<PresenceMap> outside) {
        this.pagers = pagers;
        this.outside = outside;
    }

    /**
     * Begins to protect pages while the guest runs, for a snapshot that follows soon. It ends by itself if none does.
     *
     * @return why that is not possible; a snapshot that is being made goes on
     */
    Optional<String> prepare() throws TimeoutException, InterruptedException {
        return obstacle(one -> one.host().prepareFreeze(one.pager()));
    }

    /**
     * Begins. The VMM is paused until all pagers have frozen their pages.
     *
     * @return why that is not possible; then nothing is frozen
     */
    Optional<String> begin() throws TimeoutException, InterruptedException {
        Optional<String> obstacle = obstacle(one -> one.host().freeze(one.pager()));
        if (obstacle.isPresent()) {
            fail(obstacle.get());
            thaw();
        }
        return obstacle;
    }

    private Optional<String> obstacle(Function<SlicePager, CompletableFuture<Optional<String>>> to)
            throws TimeoutException, InterruptedException {
        return each(to).stream().flatMap(Optional::stream).findFirst();
    }

    /** How far all of them are: the state of the one that is least far, or of one that has failed. */
    FreezeStatus status() {
        FreezeStatus all = new FreezeStatus(FreezeStatus.State.FAILED, 0, 0, "");
        for (SlicePager each : pagers) {
            FreezeStatus one = each.pager().frozen();
            boolean isFailed = !all.failure().isEmpty();
            boolean counts =
                    !isFailed && (!one.failure().isEmpty() || one.state().compareTo(all.state()) < 0);
            all = new FreezeStatus(
                    counts ? one.state() : all.state(),
                    all.pages() + one.pages(),
                    all.left() + one.left(),
                    counts ? one.failure() : all.failure());
        }
        return all;
    }

    /** The snapshot is not made, unless it is being handed over. */
    void fail(String why) {
        pagers.forEach(one -> one.host().failFreeze(one.pager(), why));
    }

    /** Whether nothing is written to the homes from now on until {@link #thaw}. */
    boolean handOver() throws TimeoutException, InterruptedException {
        return areAll(one -> one.host().handOver(one.pager()));
    }

    /** The snapshot is made, and the map says so; or it is given up. */
    void thaw() {
        pagers.forEach(one -> one.host().thaw(one.pager()));
    }

    /** Which pages the homes have, once they are handed over. Empty if a pager is gone. */
    Optional<PresenceMap> presence() throws TimeoutException, InterruptedException {
        PresenceMap map = outside.get();
        for (SlicePager one : pagers) {
            for (int from = 0; from < one.slice().pages(); from += DESCRIBED) {
                int first = from;
                if (!get(one.host().describe(one.pager(), map, one.slice().firstPage(), first, DESCRIBED))) {
                    return Optional.empty();
                }
            }
        }
        return Optional.of(map);
    }

    private boolean areAll(Function<SlicePager, CompletableFuture<Boolean>> question)
            throws TimeoutException, InterruptedException {
        return each(question).stream().allMatch(Boolean::booleanValue);
    }

    private <T> List<T> each(Function<SlicePager, CompletableFuture<T>> question)
            throws TimeoutException, InterruptedException {
        List<CompletableFuture<T>> asked = pagers.stream().map(question).toList();
        List<T> answers = new ArrayList<>();
        for (CompletableFuture<T> answer : asked) {
            answers.add(get(answer));
        }
        return answers;
    }

    private static <T> T get(CompletableFuture<T> answer) throws TimeoutException, InterruptedException {
        try {
            return answer.get(PagerHost.TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause());
        }
    }
}
