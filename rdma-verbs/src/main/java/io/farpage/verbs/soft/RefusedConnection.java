package io.farpage.verbs.soft;

import java.net.InetAddress;

/**
 * A connection that a soft device has refused and closed.
 *
 * @param from address of the peer
 * @param stage how far the connection had come
 * @param reason why
 * @param queuePair number of this device's queue pair that was called; 0 if the connection did not get so far
 */
public record RefusedConnection(InetAddress from, Stage stage, String reason, int queuePair) {

    /** How far a connection had come. */
    public enum Stage {
        /** The peer had not proven itself, or TLS did not begin. */
        HANDSHAKE,
        /** The peer had proven itself; a request of it was refused, and its queue pair is in ERR. */
        REQUEST
    }

    /** Receives each refused connection, on the listener's thread or a responder's. It must be quick and not throw. */
    @FunctionalInterface
    public interface Listener {
        /** A connection was refused. */
        void refused(RefusedConnection connection);
    }

    @Override
    public String toString() {
        return "a %s from %s%s: %s"
                .formatted(
                        stage == Stage.REQUEST ? "request" : "connection",
                        from.getHostAddress(),
                        queuePair == 0 ? "" : " for qp 0x" + Integer.toHexString(queuePair),
                        reason);
    }
}
