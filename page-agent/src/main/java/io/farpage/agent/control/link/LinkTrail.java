package io.farpage.agent.control.link;

import java.util.Collection;
import java.util.HashMap;
import java.util.Map;

/**
 * Sees the changes of links by comparing each with what it was a step before. Every failure is counted, so that one
 * that repeats is seen again. Used by the links' thread.
 */
final class LinkTrail {
    private final Map<String, Seen> before = new HashMap<>();

    /**
     * A link after a step.
     *
     * @param up whether it is verified
     * @param transport of its queue pairs; empty if there are none
     * @param failures so far
     * @param refused whether the latest failure was a refusal
     */
    record Seen(boolean up, long incarnation, String transport, long failures, boolean refused) {
        static final Seen NOTHING = new Seen(false, 0, "", 0, false);
    }

    void observe(Collection<LinkSession> sessions, LinkWatch watch) {
        for (LinkSession session : sessions) {
            Seen now = session.seen();
            Seen then = before.put(session.peer(), now);
            compare(session, then == null ? Seen.NOTHING : then, now, watch);
        }
    }

    private static void compare(LinkSession session, Seen then, Seen now, LinkWatch watch) {
        boolean another = then.incarnation() != now.incarnation();
        if (then.up() && (!now.up() || another)) {
            String reason = now.failures() > then.failures() ? session.lastFailure() : "it was ended";
            watch.changed(new LinkWatch.Change(
                    LinkWatch.Kind.DOWN, session.peer(), then.incarnation(), then.transport(), reason));
        } else if (now.failures() > then.failures()) {
            watch.changed(new LinkWatch.Change(
                    now.refused() ? LinkWatch.Kind.REFUSED : LinkWatch.Kind.FAILED,
                    session.peer(),
                    now.incarnation(),
                    then.transport(),
                    session.lastFailure()));
        }
        if (now.up() && (!then.up() || another)) {
            watch.changed(
                    new LinkWatch.Change(LinkWatch.Kind.UP, session.peer(), now.incarnation(), now.transport(), ""));
        } else if (now.up() && !then.transport().equals(now.transport())) {
            watch.changed(
                    new LinkWatch.Change(LinkWatch.Kind.MOVED, session.peer(), now.incarnation(), now.transport(), ""));
        }
    }
}
