package io.farpage.rest;

import io.farpage.tls.TlsFailure;
import org.eclipse.jetty.io.ssl.SslHandshakeListener;

/**
 * Tells the access control of handshakes that failed: foreign, expired or missing certificates never get as far as a
 * request.
 */
final class HandshakeWatch implements SslHandshakeListener {

    private final AccessControl control;

    HandshakeWatch(AccessControl control) {
        this.control = control;
    }

    @Override
    public void handshakeFailed(Event event, Throwable failure) {
        control.handshakeRefused(Connections.address(event.getEndPoint()), TlsFailure.explain(failure));
    }
}
