package io.farpage.agent.control.member;

import io.farpage.agent.control.ControlThread;
import io.farpage.agent.control.LocalNode;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.CopyReport;
import io.farpage.coordinator.model.Incarnation;
import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;

/**
 * Reports to the coordinator, once a second while a copy runs, how far this node has copied pages to homes that join.
 * Operators see the progress. Nothing depends on a report: one that fails is not repeated.
 */
public final class CopyReports implements AutoCloseable {
    static final Duration INTERVAL = Duration.ofSeconds(1);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

    private final CoordinatorClient coordinator;
    private final String node;
    private final Incarnation incarnation;
    private final Supplier<List<CopyReport.Copy>> copies;
    private final ControlThread thread;

    /**
     * Sends a report of a node's copies to the coordinator.
     *
     * @param copies that are under way
     */
    public CopyReports(LocalNode node, Supplier<List<CopyReport.Copy>> copies) {
        this(node.coordinator(), node.id(), node.incarnation(), copies);
    }

    CopyReports(
            CoordinatorClient coordinator,
            String node,
            Incarnation incarnation,
            Supplier<List<CopyReport.Copy>> copies) {
        this.coordinator = coordinator;
        this.node = node;
        this.incarnation = incarnation;
        this.copies = copies;
        thread = new ControlThread(
                "copy-reports", new ControlThread.Pauses(INTERVAL, INTERVAL, CLOSE_TIMEOUT), this::report);
    }

    public void start() {
        thread.start();
    }

    /** Reports once. Returns how long to pause. */
    Duration report() throws CoordinatorException {
        List<CopyReport.Copy> now =
                copies.get().stream().limit(CopyReport.MAX_COPIES).toList();
        if (!now.isEmpty()) {
            coordinator.reportCopies(node, new CopyReport(incarnation, now));
        }
        return INTERVAL;
    }

    @Override
    public void close() {
        thread.close();
    }
}
