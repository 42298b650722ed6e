package io.farpage.verbs.soft;

import io.farpage.linux.crypto.LibSsl;
import io.farpage.linux.crypto.TlsException;
import io.farpage.linux.crypto.TlsStream;

/**
 * The key with which the two ends of one connection begin TLS: only they can derive it, and it is never used for
 * another connection.
 */
final class PreSharedKey {
    private final byte[] bytes;

    /** @param bytes {@link TlsStream#PSK_BYTES} of them, owned by this object */
    PreSharedKey(byte[] bytes) {
        this.bytes = bytes;
    }

    TlsStream client(LibSsl library) throws TlsException {
        return TlsStream.client(library, bytes);
    }

    TlsStream server(LibSsl library) throws TlsException {
        return TlsStream.server(library, bytes);
    }

    /** Does not show the key. */
    @Override
    public String toString() {
        return "pre-shared key";
    }
}
