package io.farpage.coordinator.server;

import io.farpage.coordinator.lead.Term;
import io.farpage.rest.RestServer;
import java.net.URI;
import java.util.Map;
import java.util.function.BooleanSupplier;

/**
 * By what right a coordinator serves.
 *
 * @param around what is put around each request
 * @param details of it for the health page
 * @param holds whether it leads at this moment
 */
record Lead(RestServer.Around around, Map<String, String> details, BooleanSupplier holds) {

    /** Of a coordinator whose store no other one can use. */
    static final Lead ALONE = new Lead(RestServer.Around.NOTHING, Map.of("role", "leader"), () -> true);

    /** Of one of several coordinators. */
    static Lead during(Term term, URI own) {
        return new Lead(
                Following.during(term),
                Map.of("role", "leader", "leader", own.toString(), "term", Long.toString(term.number())),
                term::holds);
    }
}
