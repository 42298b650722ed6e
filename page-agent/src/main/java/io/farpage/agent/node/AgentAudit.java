package io.farpage.agent.node;

import io.farpage.agent.control.guest.GuestWatch;
import io.farpage.agent.control.guest.HandoffPeer;
import io.farpage.agent.control.link.LinkWatch;
import io.farpage.audit.Audit;
import io.farpage.audit.AuditEvent;
import io.farpage.audit.AuditEvent.Actor;
import io.farpage.audit.AuditEvent.Outcome;
import io.farpage.verbs.soft.RefusedConnection;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * What the agent's audit tells beside REST requests: links, connections that were refused, handoffs, and guests that
 * have ended. Thread-safe.
 */
final class AgentAudit implements LinkWatch, GuestWatch, RefusedConnection.Listener {

    private final Audit audit;

    AgentAudit(Audit audit) {
        this.audit = audit;
    }

    @Override
    public void changed(Change change) {
        Outcome outcome = switch (change.kind()) {
            case UP, MOVED, DOWN -> Outcome.OK;
            case FAILED -> Outcome.failed(change.reason());
            case REFUSED -> Outcome.refused(change.reason());
        };
        Map<String, Object> details = new LinkedHashMap<>();
        if (change.incarnation() != 0) {
            details.put("incarnation", "%016x".formatted(change.incarnation()));
        }
        if (!change.transport().isEmpty()) {
            details.put("transport", change.transport());
        }
        if (change.kind() == Kind.DOWN) {
            details.put("cause", change.reason());
        }
        audit.record(new AuditEvent(
                new Actor("node", change.peer(), ""),
                "link." + change.kind().name().toLowerCase(Locale.ROOT),
                change.peer(),
                outcome,
                details));
    }

    @Override
    public void refused(RefusedConnection connection) {
        boolean proven = connection.stage() == RefusedConnection.Stage.REQUEST;
        audit.record(new AuditEvent(
                new Actor(proven ? "peer" : "stranger", "", connection.from().getHostAddress()),
                proven ? "link.access" : "link.hello",
                connection.queuePair() == 0 ? "" : "qp 0x" + Integer.toHexString(connection.queuePair()),
                Outcome.refused(connection.reason())));
    }

    @Override
    public void handoff(String space, HandoffPeer peer, Optional<String> refusal) {
        audit.record(new AuditEvent(
                new Actor("process", peer.executable(), "pid " + peer.pid()),
                "handoff",
                space,
                refusal.map(Outcome::refused).orElse(Outcome.OK),
                Map.of("pid", peer.pid(), "uid", peer.user(), "gid", peer.group(), "exe", peer.executable())));
    }

    @Override
    public void adopted(String space, int pid, Optional<String> refusal) {
        audit.record(new AuditEvent(
                Actor.PROGRAM,
                "guest.adopt",
                space,
                refusal.map(Outcome::refused).orElse(Outcome.OK),
                Map.of("pid", pid)));
    }

    @Override
    public void parked(String space) {
        audit.record(new AuditEvent(Actor.PROGRAM, "guest.park", space, Outcome.OK, Map.of("cause", "idle")));
    }

    @Override
    public void unparked(String space) {
        audit.record(new AuditEvent(Actor.PROGRAM, "guest.unpark", space, Outcome.OK, Map.of("cause", "faults")));
    }

    @Override
    public void ended(String space, String reason, boolean saved) {
        audit.record(
                new AuditEvent(Actor.PROGRAM, "guest.end", space, Outcome.OK, Map.of("cause", reason, "saved", saved)));
    }

    /** The agent's certificate was replaced. */
    void certificateChanged() {
        audit.record(new AuditEvent(Actor.PROGRAM, "certificate.change", "", Outcome.OK));
    }
}
