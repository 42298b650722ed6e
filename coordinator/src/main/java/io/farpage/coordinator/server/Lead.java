package io.farpage.coordinator.server;

import io.farpage.coordinator.lead.Term;
import io.farpage.rest.RestServer;
import java.net.URI;
import java.util.Map;
import java.util.function.BooleanSupplier;

/**
 * The leadership under which a coordinator serves requests.
 *
 * @param around what is put around each request
 * @param details of the leadership for the health page
 * @param holds whether the coordinator leads at this moment
 */
record Lead(RestServer.Around around, Map<String, String> details, BooleanSupplier holds) {

    /** The leadership of a coordinator that alone uses its store. It never ends. */
    static final Lead ALONE = new Lead(RestServer.Around.NOTHING, Map.of("role", "leader"), () -> true);

    /** The leadership of one of several coordinators, for the time of its term. */
    static Lead during(Term term, URI own) {
        return new Lead(
                Following.during(term),
                Map.of("role", "leader", "leader", own.toString(), "term", Long.toString(term.number())),
                term::holds);
    }
}
