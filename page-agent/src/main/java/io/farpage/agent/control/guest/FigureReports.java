package io.farpage.agent.control.guest;

import io.farpage.agent.control.ControlThread;
import io.farpage.agent.control.LocalNode;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.FiguresReport;
import io.farpage.coordinator.model.Incarnation;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * Reports the faults of this node's guests to the coordinator every five seconds, for its dashboard: one request for
 * all guests, and none while no guest runs. Nothing depends on a report: one that fails is not repeated.
 */
public final class FigureReports implements AutoCloseable {
    static final Duration INTERVAL = Duration.ofSeconds(5);
    /** Until the maps are made that the last answer has asked for anew. */
    static final Duration UNTIL_MAPPED = Duration.ofSeconds(1);

    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

    private final CoordinatorClient coordinator;
    private final String node;
    private final Incarnation incarnation;
    private final SampledGuests guests;
    private final ControlThread thread;
    private long sampledAt = System.nanoTime();
    private Set<Long> mapped = Set.of();

    /** Sends a report of a node's guests to the coordinator. */
    public FigureReports(LocalNode node, Guests guests) {
        this(node.coordinator(), node.id(), node.incarnation(), guests);
    }

    FigureReports(CoordinatorClient coordinator, String node, Incarnation incarnation, SampledGuests guests) {
        this.coordinator = coordinator;
        this.node = node;
        this.incarnation = incarnation;
        this.guests = guests;
        thread = new ControlThread(
                "figure-reports", new ControlThread.Pauses(INTERVAL, INTERVAL, CLOSE_TIMEOUT), this::report);
    }

    public void start() {
        thread.start();
    }

    /** Reports once. Returns how long to pause. */
    Duration report() throws CoordinatorException {
        List<GuestSample> samples = guests.samples();
        long now = System.nanoTime();
        long millis = Math.clamp(TimeUnit.NANOSECONDS.toMillis(now - sampledAt), 1, FiguresReport.MAX_MILLIS);
        sampledAt = now;
        Set<Long> before = mapped;
        mapped = Set.of();
        if (samples.isEmpty()) {
            return INTERVAL;
        }
        mapped = Set.copyOf(
                coordinator.reportFigures(node, report(samples, millis)).maps());
        guests.requestMaps(mapped);
        return before.containsAll(mapped) ? INTERVAL : UNTIL_MAPPED;
    }

    private FiguresReport report(List<GuestSample> samples, long millis) {
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
                        .toList());
    }

    @Override
    public void close() {
        thread.close();
    }
}
