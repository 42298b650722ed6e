package io.farpage.agent.control.member;

import io.farpage.agent.control.ControlThread;
import io.farpage.certs.PrivateFiles;
import io.farpage.certs.RenewalTime;
import io.farpage.certs.SigningRequest;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.CertificateRequest;
import io.farpage.coordinator.model.IssuedCertificate;
import io.farpage.tls.Pem;
import io.farpage.tls.Tls;
import io.farpage.tls.TlsException;
import io.farpage.tls.TlsFiles;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gets the node's next certificate when two thirds of the present one's life are over, for the same key. Only the
 * certificate's file changes, in one step, so the files fit together at every moment. A coordinator that is away or
 * refuses is asked again until the present one ends.
 */
public final class CertificateRenewal implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(CertificateRenewal.class);
    private static final Duration RETRY = Duration.ofMinutes(1);
    private static final Duration SHORTEST = Duration.ofMillis(500);
    private static final Duration LONGEST = Duration.ofHours(1);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);
    private static final int RETRIES_IN_REST = 20;

    private final CoordinatorClient coordinator;
    private final String node;
    private final Tls tls;
    private final ControlThread thread;

    public CertificateRenewal(CoordinatorClient coordinator, String node, Tls tls) {
        this.coordinator = coordinator;
        this.node = node;
        this.tls = tls;
        thread = new ControlThread(
                "certificate", new ControlThread.Pauses(Duration.ZERO, RETRY, CLOSE_TIMEOUT), this::step);
    }

    public void start() {
        thread.start();
    }

    private Duration step() {
        X509Certificate present = tls.certificate().orElseThrow();
        Duration left = Duration.between(Instant.now(), RenewalTime.of(present));
        if (left.isPositive()) {
            return bounded(left, LONGEST);
        }
        try {
            renew();
            return SHORTEST;
        } catch (CoordinatorException | TlsException e) {
            log.warn(
                    "the certificate of node {}, which ends at {}, could not be renewed: {}",
                    node,
                    present.getNotAfter().toInstant(),
                    e.getMessage());
            Duration rest =
                    Duration.between(Instant.now(), present.getNotAfter().toInstant());
            return bounded(rest.dividedBy(RETRIES_IN_REST), RETRY);
        }
    }

    private static Duration bounded(Duration wanted, Duration longest) {
        if (wanted.compareTo(longest) > 0) {
            return longest;
        }
        return wanted.compareTo(SHORTEST) < 0 ? SHORTEST : wanted;
    }

    private void renew() throws CoordinatorException {
        String request = tls.withKey(
                key -> SigningRequest.make(node, tls.certificate().orElseThrow().getPublicKey(), key));
        IssuedCertificate issued = coordinator.renewCertificate(node, new CertificateRequest(request));
        X509Certificate next = Pem.certificates(issued.certificate(), "the coordinator's answer")
                .getFirst();
        if (!next.getPublicKey().equals(tls.certificate().orElseThrow().getPublicKey())) {
            throw new TlsException("the coordinator's answer is a certificate for another key");
        }
        TlsFiles.Own files = tls.files().own().orElseThrow();
        PrivateFiles.replace(files.certificate(), issued.certificate());
        tls.reload();
        log.info("certificate renewed, valid until {}", next.getNotAfter().toInstant());
    }

    @Override
    public void close() {
        thread.close();
    }
}
