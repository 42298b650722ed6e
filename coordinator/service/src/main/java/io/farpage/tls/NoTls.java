package io.farpage.tls;

import java.security.SecureRandom;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLContextSpi;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLServerSocketFactory;
import javax.net.ssl.SSLSessionContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManager;
import org.jspecify.annotations.Nullable;

/**
 * An SSL context for a client that never speaks TLS. The JDK's HTTP client needs a context in any case. The default one
 * reads the certificates of all public CAs, and every other one loads the classes of TLS.
 */
public final class NoTls extends SSLContextSpi {

    private static final SSLContext CONTEXT = new Context();

    private static final class Context extends SSLContext {
        @SuppressWarnings("NullAway") // no provider has made it, and none is asked for
        Context() {
            super(new NoTls(), null, "none");
        }
    }

    private NoTls() {}

    /** The context. A connection over TLS with it ends with {@link UnsupportedOperationException}. Thread-safe. */
    public static SSLContext context() {
        return CONTEXT;
    }

    private static UnsupportedOperationException refusal() {
        return new UnsupportedOperationException("a client of plain HTTP speaks no TLS");
    }

    @Override
    protected SSLParameters engineGetDefaultSSLParameters() {
        return new SSLParameters();
    }

    @Override
    protected SSLParameters engineGetSupportedSSLParameters() {
        return new SSLParameters();
    }

    @Override
    protected void engineInit(
            KeyManager @Nullable [] keys, TrustManager @Nullable [] trust, @Nullable SecureRandom random) {
        throw refusal();
    }

    @Override
    protected SSLSocketFactory engineGetSocketFactory() {
        throw refusal();
    }

    @Override
    protected SSLServerSocketFactory engineGetServerSocketFactory() {
        throw refusal();
    }

    @Override
    protected SSLEngine engineCreateSSLEngine() {
        throw refusal();
    }

    @Override
    protected SSLEngine engineCreateSSLEngine(String host, int port) {
        throw refusal();
    }

    @Override
    protected SSLSessionContext engineGetServerSessionContext() {
        throw refusal();
    }

    @Override
    protected SSLSessionContext engineGetClientSessionContext() {
        throw refusal();
    }
}
