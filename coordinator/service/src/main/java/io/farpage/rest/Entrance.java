package io.farpage.rest;

import io.farpage.config.HostPort;
import io.farpage.tls.Tls;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Where a service listens, its certificates, and the identities that it admits. A service listens on a TCP address, on
 * a Unix socket, or on both.
 *
 * @param tcp the TCP address; port 0 lets the system choose
 * @param tls certificates for the TCP address; empty: plain HTTP. The Unix socket has none: the kernel tells which user
 *     has connected.
 * @param control decides on every request
 * @param socket path at which the Unix socket is bound; nothing may exist there
 */
public record Entrance(Optional<HostPort> tcp, Optional<Tls> tls, AccessControl control, Optional<Path> socket) {

    /** Checks that the service listens somewhere. */
    public Entrance {
        if (tcp.isEmpty() && socket.isEmpty()) {
            throw new IllegalArgumentException("a service listens on a TCP address, a Unix socket or both");
        }
    }

    /** A TCP address. */
    public Entrance(HostPort listen, Optional<Tls> tls, AccessControl control) {
        this(Optional.of(listen), tls, control, Optional.empty());
    }

    /** Plain HTTP for all that reach it. */
    public static Entrance open(HostPort listen) {
        return new Entrance(listen, Optional.empty(), AccessControl.open(List.of(listen.host())));
    }

    /** The scheme of its URLs. */
    public String scheme() {
        return tls.isPresent() ? "https" : "http";
    }
}
