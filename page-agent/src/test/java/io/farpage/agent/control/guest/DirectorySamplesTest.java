package io.farpage.agent.control.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.agent.data.coherence.DirectoryStatus;
import io.farpage.coordinator.model.DirectoryFigures;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class DirectorySamplesTest {
    private static final List<DirectoryStatus.MemberStatus> MEMBERS =
            List.of(new DirectoryStatus.MemberStatus("a", true), new DirectoryStatus.MemberStatus("b", false));
    private static final List<DirectoryStatus.Bouncing> BOUNCING =
            List.of(new DirectoryStatus.Bouncing(17, 200, "a", "b"));

    private long now;
    private CompletableFuture<List<DirectoryStatus>> status = CompletableFuture.completedFuture(List.of());
    private final DirectorySamples samples = new DirectorySamples(() -> status, Duration.ZERO, () -> now);

    private List<DirectoryFigures> takeAfter(long millis, DirectoryStatus... all) throws InterruptedException {
        now += TimeUnit.MILLISECONDS.toNanos(millis);
        status = CompletableFuture.completedFuture(List.of(all));
        return samples.take();
    }

    private static DirectoryStatus directory(long space, long requests) {
        return new DirectoryStatus(space, 64, MEMBERS, requests, requests / 2, requests / 4, 3, 5, BOUNCING, List.of());
    }

    private static DirectoryFigures figures(long space, long millis, long requests, long recalls, long invalidations) {
        return new DirectoryFigures(
                space,
                millis,
                requests,
                recalls,
                invalidations,
                3,
                5,
                List.of("b"),
                List.of(new DirectoryFigures.Bouncing(17, 200, "a", "b")));
    }

    @Test
    void shouldCountWhatWasDoneSinceTheLastSample() throws InterruptedException {
        assertEquals(List.of(figures(7, 5_000, 8, 4, 2)), takeAfter(5_000, directory(7, 8)));
        assertEquals(
                List.of(figures(7, 1_000, 100, 50, 25), figures(8, 1_000, 4, 2, 1)),
                takeAfter(1_000, directory(7, 108), directory(8, 4)));
    }

    @Test
    void shouldCountFromZeroWhenADirectoryHasBegunAnew() throws InterruptedException {
        takeAfter(5_000, directory(7, 100));
        assertEquals(List.of(figures(7, 5_000, 40, 20, 10)), takeAfter(5_000, directory(7, 40)));
        takeAfter(5_000);
        assertEquals(List.of(figures(7, 5_000, 60, 30, 15)), takeAfter(5_000, directory(7, 60)));
    }

    @Test
    void shouldCoverTheTimeInWhichTheShardDidNotAnswer() throws InterruptedException {
        takeAfter(5_000, directory(7, 100));
        now += TimeUnit.SECONDS.toNanos(5);
        status = new CompletableFuture<>();
        assertEquals(List.of(), samples.take());
        assertEquals(List.of(figures(7, 10_000, 40, 20, 10)), takeAfter(5_000, directory(7, 140)));
    }
}
