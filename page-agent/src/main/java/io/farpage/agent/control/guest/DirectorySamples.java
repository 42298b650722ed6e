package io.farpage.agent.control.guest;

import io.farpage.agent.data.coherence.DirectoryStatus;
import io.farpage.coordinator.model.DirectoryFigures;
import io.farpage.coordinator.model.FiguresReport;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * What the directories of this node's coherent spaces have done since the last sample, as it is reported to the
 * coordinator. One thread.
 */
final class DirectorySamples {
    private final Supplier<CompletableFuture<List<DirectoryStatus>>> directories;
    private final Duration patience;
    private final LongSupplier clock;
    /** By space. */
    private Map<Long, Counts> before = Map.of();

    private long sampledAt;

    /** What a directory has done since it began. */
    private record Counts(long requests, long recalls, long invalidations) {
        static final Counts NONE = new Counts(0, 0, 0);

        static Counts of(DirectoryStatus status) {
            return new Counts(status.requests(), status.recalls(), status.invalidations());
        }

        /** What was added to earlier counts; all of it if the directory has begun anew meanwhile. */
        Counts since(Counts earlier) {
            boolean isAnew =
                    earlier.requests > requests || earlier.recalls > recalls || earlier.invalidations > invalidations;
            return isAnew
                    ? this
                    : new Counts(
                            requests - earlier.requests,
                            recalls - earlier.recalls,
                            invalidations - earlier.invalidations);
        }
    }

    /**
     * @param directories all of this node
     * @param patience until a sample is left out
     * @param clock nanoseconds
     */
    DirectorySamples(
            Supplier<CompletableFuture<List<DirectoryStatus>>> directories, Duration patience, LongSupplier clock) {
        this.directories = directories;
        this.patience = patience;
        this.clock = clock;
        sampledAt = clock.getAsLong();
    }

    /** Takes a sample. None is taken, and the next one is of a longer time, if the shard does not answer. */
    List<DirectoryFigures> take() throws InterruptedException {
        List<DirectoryStatus> all;
        try {
            all = directories.get().get(patience.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            return List.of();
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause());
        }
        long now = clock.getAsLong();
        long millis = Math.clamp(TimeUnit.NANOSECONDS.toMillis(now - sampledAt), 1, FiguresReport.MAX_MILLIS);
        List<DirectoryFigures> figures =
                all.stream().map(one -> figures(one, millis)).toList();
        sampledAt = now;
        before = all.stream().collect(Collectors.toMap(DirectoryStatus::space, Counts::of));
        return figures;
    }

    private DirectoryFigures figures(DirectoryStatus now, long millis) {
        Counts since = Counts.of(now).since(before.getOrDefault(now.space(), Counts.NONE));
        return new DirectoryFigures(
                now.space(),
                millis,
                since.requests,
                since.recalls,
                since.invalidations,
                now.waiting(),
                now.lostPages(),
                now.members().stream()
                        .filter(member -> !member.heard())
                        .map(DirectoryStatus.MemberStatus::node)
                        .toList(),
                now.bouncing().stream()
                        .limit(DirectoryFigures.MAX_BOUNCING)
                        .map(page -> new DirectoryFigures.Bouncing(page.page(), page.moves(), page.from(), page.to()))
                        .toList());
    }
}
