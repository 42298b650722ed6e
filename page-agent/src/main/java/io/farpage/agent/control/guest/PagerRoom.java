package io.farpage.agent.control.guest;

import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.ExtentEpoch;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gives room of a thin space back while its guest runs: that of extents whose pages have all been zeros at two looks.
 * First all pagers stop writing there, in the extent's epoch; then the coordinator is asked. An answer that is lost is
 * asked for again, since the room may be gone; a refusal lets the pagers write again. The guest's thread only.
 */
final class PagerRoom {
    private static final Logger log = LoggerFactory.getLogger(PagerRoom.class);

    private final List<SlicePager> pagers;
    /** What was zeros at the last look. */
    private Set<ExtentEpoch> zeros = Set.of();
    /** What no pager writes to, and the coordinator was asked to take back. */
    private Set<ExtentEpoch> withdrawn = Set.of();

    PagerRoom(List<SlicePager> pagers) {
        this.pagers = pagers;
    }

    /**
     * Looks at all extents, and gives back what can be.
     *
     * @throws TimeoutException if a shard does not answer
     */
    void giveBack(SpaceUse use) throws InterruptedException, TimeoutException {
        if (!use.space().isThin() || use.base().isPresent()) {
            return; // without room the pages of a clone are those of its snapshot again
        }
        Set<ExtentEpoch> now = zeros(use.map());
        Set<ExtentEpoch> still = now.stream().filter(zeros::contains).collect(Collectors.toSet());
        zeros = now;
        if (withdrawn.isEmpty() && !still.isEmpty()) {
            withdrawn = withdraw(still);
        }
        if (!withdrawn.isEmpty()) {
            ask(use);
        }
    }

    private void ask(SpaceUse use) {
        try {
            use.deallocate(List.copyOf(withdrawn));
            log.info(
                    "space {}: {} extents whose pages are zeros have given their room back",
                    use.map().name(),
                    withdrawn.size());
            withdrawn = Set.of();
        } catch (CoordinatorRefusedException e) {
            log.debug("space {}: room is not given back: {}", use.map().name(), e.getMessage());
            reinstate(withdrawn);
            withdrawn = Set.of();
        } catch (CoordinatorException e) {
            log.debug(
                    "space {}: whether room is given back is not known: {}",
                    use.map().name(),
                    e.getMessage());
        }
    }

    /** Extents with room whose pages are all zeros in the tables of the pagers that have them. */
    private Set<ExtentEpoch> zeros(SpaceMap map) {
        Set<ExtentEpoch> found = new HashSet<>();
        for (int extent = 0; extent < map.extents(); extent++) {
            long first = map.firstPage(extent);
            long end = Math.min(map.pages(), map.endPage(extent));
            if (map.isAllocated(extent) && map.joining(extent) == null && first < end && areZeros(first, end)) {
                found.add(new ExtentEpoch(first, map.epoch(extent)));
            }
        }
        return found;
    }

    private boolean areZeros(long first, long end) {
        long covered = 0;
        for (SlicePager one : pagers) {
            int start = one.slice().firstPage();
            long from = Math.max(first, start);
            long until = Math.min(end, (long) start + one.slice().pages());
            if (from < until) {
                covered += until - from;
                if (!one.pager().areZeros((int) (from - start), (int) (until - start))) {
                    return false;
                }
            }
        }
        return covered == end - first;
    }

    /** Makes all pagers stop writing to extents. Returns those that none goes on writing to. */
    private Set<ExtentEpoch> withdraw(Set<ExtentEpoch> extents) throws InterruptedException, TimeoutException {
        Map<Long, Long> epochs = extents.stream().collect(Collectors.toMap(ExtentEpoch::firstPage, ExtentEpoch::epoch));
        List<CompletableFuture<Set<Long>>> answers = pagers.stream()
                .map(one -> one.host().withdraw(one.pager(), epochs))
                .toList();
        Set<ExtentEpoch> agreed = new HashSet<>(extents);
        try {
            for (CompletableFuture<Set<Long>> answer : answers) {
                Set<Long> kept = answer.get(PagerHost.TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
                agreed.removeIf(extent -> kept.contains(extent.firstPage()));
            }
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause());
        } catch (InterruptedException | TimeoutException e) {
            reinstate(extents);
            throw e;
        }
        reinstate(extents.stream().filter(extent -> !agreed.contains(extent)).collect(Collectors.toSet()));
        return agreed;
    }

    private void reinstate(Set<ExtentEpoch> extents) {
        Set<Long> firstPages = extents.stream().map(ExtentEpoch::firstPage).collect(Collectors.toSet());
        if (!firstPages.isEmpty()) {
            pagers.forEach(one -> one.host().reinstate(one.pager(), firstPages));
        }
    }
}
