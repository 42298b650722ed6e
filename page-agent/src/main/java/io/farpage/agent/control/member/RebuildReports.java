package io.farpage.agent.control.member;

import io.farpage.agent.control.ControlThread;
import io.farpage.agent.control.space.Spaces;
import io.farpage.coordinator.client.Allegiance;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.NodeReport;
import io.farpage.coordinator.model.Registration;
import io.farpage.coordinator.model.Seen;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reports to a coordinator that is being rebuilt what this agent knows. A report changes nothing on this node. */
public final class RebuildReports implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(RebuildReports.class);
    private static final Duration PAUSE = Duration.ofMillis(500);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);

    private final CoordinatorClient coordinator;
    private final String node;
    private final Supplier<Registration> registration;
    private final Known known;
    private final ControlThread thread;
    private Optional<NodeReport> accepted = Optional.empty();
    private String lastLogged = "";

    /**
     * The contents of a report.
     *
     * @param hosting what it does as a home
     * @param spaces that it is attached to
     * @param superseded incarnations of its peers
     * @param left spaces of guests that an earlier process has left and this one does not serve yet
     * @param events that it follows
     */
    public record Known(
            Hosting hosting,
            Spaces spaces,
            Supplier<List<NodeReport.Superseded>> superseded,
            Supplier<List<NodeReport.Left>> left,
            EventWatch events) {}

    /** @param registration what the agent registers with */
    public RebuildReports(
            CoordinatorClient coordinator, String node, Supplier<Registration> registration, Known known) {
        this.coordinator = coordinator;
        this.node = node;
        this.registration = registration;
        this.known = known;
        thread = new ControlThread(
                "rebuild-reports", new ControlThread.Pauses(PAUSE, PAUSE, CLOSE_TIMEOUT), this::reportIfRebuilding);
    }

    public void start() {
        thread.start();
    }

    private Duration reportIfRebuilding() throws CoordinatorException {
        try {
            if (coordinator.allegiance().isRebuilding()) {
                send();
                logOnce("reported to the coordinator that is being rebuilt what this node knows");
            } else {
                lastLogged = "";
                accepted = Optional.empty();
            }
        } catch (CoordinatorRefusedException e) {
            // 404: the rebuild has finished in the meantime.
            if (!e.isNotFound()) {
                logOnce("the coordinator that is being rebuilt refuses the report: " + e.getMessage());
            }
        }
        return PAUSE;
    }

    private void logOnce(String what) {
        if (!what.equals(lastLogged)) {
            log.info("{}", what);
            lastLogged = what;
        }
    }

    /** Sends the report, unless the coordinator has it: it may be long. */
    private void send() throws CoordinatorException {
        NodeReport now = report();
        if (accepted.filter(now::equals).isPresent()
                && coordinator.rebuildStatus().reported().contains(node)) {
            return;
        }
        accepted = Optional.empty();
        coordinator.report(node, now);
        accepted = Optional.of(now);
    }

    private NodeReport report() {
        Allegiance.Status status = coordinator.allegiance().status();
        // Before what is held: a guest may be adopted meanwhile.
        List<NodeReport.Left> left = known.left().get();
        Spaces.Held held = known.spaces().held();
        Hosting.Known home = known.hosting().known();
        return new NodeReport(
                status.joined() ? status.seen().map(Seen::toString) : Optional.empty(),
                known.events().index(),
                registration.get(),
                home.hosted(),
                held.spaces(),
                held.attachments(),
                home.zeroed(),
                known.superseded().get(),
                Optional.of(home.deleted()),
                Optional.of(left));
    }

    @Override
    public void close() {
        thread.closeNow();
    }
}
