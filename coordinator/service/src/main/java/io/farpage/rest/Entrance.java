package io.farpage.rest;

import io.farpage.config.HostPort;
import io.farpage.tls.Tls;
import java.util.List;
import java.util.Optional;

/**
 * The address that a service listens on, its certificates, and the identities that it admits.
 *
 * @param listen where; port 0 lets the system choose
 * @param tls its certificates; empty: plain HTTP
 * @param control decides on every request
 */
public record Entrance(HostPort listen, Optional<Tls> tls, AccessControl control) {

    /** Plain HTTP for all that reach it. */
    public static Entrance open(HostPort listen) {
        return new Entrance(listen, Optional.empty(), AccessControl.open(List.of(listen.host())));
    }

    /** The same entrance on another address. */
    public Entrance at(HostPort other) {
        return new Entrance(other, tls, control);
    }

    /** The scheme of its URLs. */
    public String scheme() {
        return tls.isPresent() ? "https" : "http";
    }
}
