package io.farpage.config;

/**
 * A host, by name or address, and a TCP port.
 *
 * @param host a name, an IPv4 address or an IPv6 address without brackets; never empty
 * @param port 0..65535; 0 means that the system chooses
 */
public record HostPort(String host, int port) {

    /** Checks both parts. */
    public HostPort {
        if (host.isBlank() || host.chars().anyMatch(c -> c <= ' ' || c == '/' || c == '@' || c == '[' || c == ']')) {
            throw new IllegalArgumentException("'" + host + "' is not a host");
        }
        if (port < 0 || port > 65535) {
            throw new IllegalArgumentException("port " + port + " is not in 0..65535");
        }
    }

    /**
     * Reads {@code host:port} or {@code [v6]:port}.
     *
     * @throws IllegalArgumentException if either part is missing or wrong
     */
    public static HostPort parse(String text) {
        int colon = text.lastIndexOf(':');
        if (colon <= 0) {
            throw new IllegalArgumentException("'" + text + "' is not host:port");
        }
        String host = text.substring(0, colon);
        if (host.startsWith("[") && host.endsWith("]")) {
            host = host.substring(1, host.length() - 1);
        } else if (host.indexOf(':') >= 0) {
            throw new IllegalArgumentException("an IPv6 address needs brackets: [::1]:7400");
        }
        String digits = text.substring(colon + 1);
        if (!digits.matches("\\d{1,5}")) {
            throw new IllegalArgumentException("'" + digits + "' is not a port");
        }
        return new HostPort(host, Integer.parseInt(digits));
    }

    /** The form that {@link #parse} reads. */
    @Override
    public String toString() {
        return (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + port;
    }
}
