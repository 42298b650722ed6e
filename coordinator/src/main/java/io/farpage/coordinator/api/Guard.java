package io.farpage.coordinator.api;

import io.farpage.access.Identity;
import io.farpage.coordinator.cluster.Ledger;
import io.farpage.coordinator.cluster.Lineage;
import io.farpage.coordinator.model.Seen;
import io.farpage.rest.AccessControl;
import io.farpage.rest.Operation;
import io.farpage.rest.ProblemException;
import io.farpage.rest.Requests;
import io.farpage.rest.RestServer;
import io.javalin.http.Context;
import io.javalin.http.HandlerType;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Refuses requests that this coordinator must not carry out, and stamps every answer with the cluster id, the epoch and
 * the revision. A request of an agent that has seen more than this coordinator knows is refused; if the agent's node is
 * registered, every change is from then on.
 */
public final class Guard {

    private final Lineage lineage;
    private final Ledger ledger;

    /** Guards the routes under {@code /api/v1}. */
    public Guard(Lineage lineage, Ledger ledger) {
        this.lineage = lineage;
        this.ledger = ledger;
    }

    /** What to put around every request. */
    public RestServer.Around around() {
        return new RestServer.Around(this::before, this::after);
    }

    private void before(Context ctx) {
        if (!ctx.path().startsWith(Operation.API + "/")) {
            return;
        }
        @Nullable String header = ctx.header(Seen.HEADER);
        Identity identity = AccessControl.identity(ctx);
        if (header != null && mayHaveSeen(identity)) {
            lineage.require(Requests.parameter(Seen.HEADER, header, Seen::parse), mayBeRegistered(identity));
        }
        Optional<String> behind = lineage.behind();
        if (behind.isPresent() && !ctx.method().equals(HandlerType.GET)) {
            throw new ProblemException(503, "behind", behind.get());
        }
    }

    /** One such header can end all changes, so it counts only from agents. */
    private static boolean mayHaveSeen(Identity identity) {
        return identity instanceof Identity.Node || identity instanceof Identity.Unauthenticated;
    }

    /** A client without authentication does not show which node it is. */
    private boolean mayBeRegistered(Identity identity) {
        return !(identity instanceof Identity.Node(String id))
                || ledger.state().nodes().containsKey(id);
    }

    private void after(Context ctx) {
        lineage.stamp(ledger.revision()).write(ctx::header);
    }
}
