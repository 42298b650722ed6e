package io.farpage.agent.control.guest;

import io.farpage.agent.control.ControlThread;
import io.farpage.agent.control.LocalNode;
import io.farpage.agent.data.coherence.DirectoryStatus;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.DirectoryFigures;
import io.farpage.coordinator.model.FiguresReport;
import io.farpage.coordinator.model.FiguresWanted;
import io.farpage.coordinator.model.Incarnation;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Reports the faults of this node's guests to the coordinator every five seconds, for its dashboard, and what the node
 * has done as a home of coherent spaces. One request carries all of it. A node without either sends no request. A
 * report that fails is not repeated, since the next one replaces it.
 *
 * <p>A coordinator of an earlier release refuses a field that it does not know. So directories are reported only if its
 * last answer has asked for them.
 */
public final class FigureReports implements AutoCloseable {
    static final Duration INTERVAL = Duration.ofSeconds(5);
    /** Until a report has what the last answer has asked for anew. */
    static final Duration SOON = Duration.ofSeconds(1);

    /** Shard 0 says within microseconds what its directories have done, unless it hangs. */
    private static final Duration PATIENCE = Duration.ofSeconds(1);

    private static final FiguresWanted NOTHING = new FiguresWanted(List.of(), false);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

    private final CoordinatorClient coordinator;
    private final String node;
    private final Incarnation incarnation;
    private final SampledGuests guests;
    private final DirectorySamples directories;
    private final ControlThread thread;
    private long sampledAt = System.nanoTime();
    private FiguresWanted wanted = NOTHING;

    /**
     * Reports to the coordinator.
     *
     * @param directories all of this node
     */
    public FigureReports(
            LocalNode node, Guests guests, Supplier<CompletableFuture<List<DirectoryStatus>>> directories) {
        this(
                node.coordinator(),
                node.id(),
                node.incarnation(),
                guests,
                new DirectorySamples(directories, PATIENCE, System::nanoTime));
    }

    FigureReports(
            CoordinatorClient coordinator,
            String node,
            Incarnation incarnation,
            SampledGuests guests,
            DirectorySamples directories) {
        this.coordinator = coordinator;
        this.node = node;
        this.incarnation = incarnation;
        this.guests = guests;
        this.directories = directories;
        thread = new ControlThread(
                "figure-reports", new ControlThread.Pauses(INTERVAL, INTERVAL, CLOSE_TIMEOUT), this::report);
    }

    public void start() {
        thread.start();
    }

    /** Reports once. Returns how long to pause. */
    Duration report() throws CoordinatorException, InterruptedException {
        List<GuestSample> samples = guests.samples();
        long now = System.nanoTime();
        long millis = Math.clamp(TimeUnit.NANOSECONDS.toMillis(now - sampledAt), 1, FiguresReport.MAX_MILLIS);
        sampledAt = now;
        List<DirectoryFigures> shared = directories.take();
        FiguresWanted before = wanted;
        wanted = NOTHING;
        if (samples.isEmpty() && shared.isEmpty()) {
            return INTERVAL;
        }
        wanted = coordinator.reportFigures(
                node, report(samples, millis, before.directories() ? Optional.of(shared) : Optional.empty()));
        guests.requestMaps(Set.copyOf(wanted.maps()));
        boolean isKnown = before.maps().containsAll(wanted.maps())
                && (before.directories() || shared.isEmpty() || !wanted.directories());
        return isKnown ? INTERVAL : SOON;
    }

    private FiguresReport report(List<GuestSample> samples, long millis, Optional<List<DirectoryFigures>> shared) {
        return new FiguresReport(
                incarnation,
                millis,
                samples.stream()
                        .map(GuestSample::faults)
                        .reduce(GuestSample.Faults.none(), GuestSample.Faults::plus)
                        .figures(),
                samples.stream()
                        .limit(FiguresReport.MAX_GUESTS)
                        .map(GuestSample::report)
                        .toList(),
                shared.map(
                        all -> all.stream().limit(FiguresReport.MAX_DIRECTORIES).toList()));
    }

    @Override
    public void close() {
        thread.close();
    }
}
