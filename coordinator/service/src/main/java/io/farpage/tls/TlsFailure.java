package io.farpage.tls;

import java.security.cert.CertificateException;
import java.util.Optional;
import javax.net.ssl.SSLException;

/** Says in one line why a TLS connection failed. */
public final class TlsFailure {

    private static final String ALERT = "Received fatal alert: ";

    private TlsFailure() {}

    /**
     * Why a client's connection failed, if TLS is the reason.
     *
     * @param failure of the request
     * @param secure whether the client spoke TLS
     */
    public static Optional<String> explain(Throwable failure, boolean secure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            String text = String.valueOf(cause.getMessage());
            if (cause instanceof CertificateException) {
                return Optional.of("it is not trusted: " + text);
            }
            int alert = text.indexOf(ALERT);
            if (alert >= 0) {
                return Optional.of(("it refuses this program's certificate (TLS alert %s); its log says why; look at"
                                + " tls.certificate and tls.ca")
                        .formatted(text.substring(alert + ALERT.length())));
            }
            if (cause instanceof SSLException && text.contains("Unsupported or unrecognized SSL message")) {
                return Optional.of("it does not speak TLS; set its tls.certificate, or use http://");
            }
        }
        String text = String.valueOf(failure.getMessage());
        boolean garbled = text.contains("status line") || text.contains("header parser received no bytes");
        return !secure && garbled ? Optional.of("it may speak TLS: use https:// (" + text + ")") : Optional.empty();
    }

    /** Why a server's handshake failed. */
    public static String explain(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof CertificateException) {
                return String.valueOf(cause.getMessage());
            }
        }
        return failure.getMessage() == null ? failure.getClass().getSimpleName() : failure.getMessage();
    }
}
