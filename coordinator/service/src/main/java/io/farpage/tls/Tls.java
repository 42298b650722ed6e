package io.farpage.tls;

import io.farpage.access.CertificateIdentity;
import io.farpage.access.Identity;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BiFunction;
import java.util.function.Function;
import javax.net.ssl.SSLContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The certificates of a running program. A thread reads the files every few seconds. Files that changed and fit
 * together replace what is in use, for new connections; connections that are open keep theirs. Files that do not fit
 * are logged once, and what was in use stays. Thread-safe.
 */
public final class Tls implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Tls.class);

    private static final int WARN_IN_LAST = 6;
    private static final Duration WARN_EVERY = Duration.ofHours(1);

    private final TlsFiles files;
    private final List<Runnable> listeners = new CopyOnWriteArrayList<>();
    private final Thread watch;
    private volatile Current current;
    private String lastFault = "";
    private Instant warnAgain = Instant.MIN;

    /** What is in use now. Contexts live as long as the material, so that connections can resume sessions. */
    private record Current(
            Material.Texts texts, Material material, SSLContext server, SSLContext toCoordinator, SSLContext toAgent) {
        static Current of(TlsFiles files, Material.Texts texts) {
            Material material = Material.of(files, texts);
            return new Current(
                    texts,
                    material,
                    Contexts.of(material, certificate -> Optional.empty()),
                    Contexts.of(material, Peer.COORDINATOR::refuse),
                    Contexts.of(material, Peer.AGENT::refuse));
        }
    }

    private Tls(TlsFiles files, Current current, Duration every) {
        this.files = files;
        this.current = current;
        this.watch = Thread.ofVirtual().name("certificates").unstarted(() -> watch(every));
    }

    /**
     * Reads the files and goes on to watch them.
     *
     * @param every how often they are read
     * @throws TlsException if they cannot be used
     */
    public static Tls open(TlsFiles files, Duration every) {
        Tls tls = read(files);
        Tls watching = new Tls(files, tls.current, every);
        watching.watch.start();
        return watching;
    }

    /**
     * Reads the files once, for a program that ends soon.
     *
     * @throws TlsException if they cannot be used
     */
    public static Tls read(TlsFiles files) {
        return new Tls(files, Current.of(files, Material.Texts.read(files)), Duration.ZERO);
    }

    /** The files. */
    public TlsFiles files() {
        return files;
    }

    /**
     * For connections that this program accepts. A client's certificate is checked against the CAs; what it may do is
     * decided per request.
     */
    public SSLContext server() {
        return current.server();
    }

    /** For connections to a coordinator or an agent. The same object until the certificates change. */
    public SSLContext client(Peer peer) {
        return switch (peer) {
            case COORDINATOR -> current.toCoordinator();
            case AGENT -> current.toAgent();
        };
    }

    /** The certificate that this program shows, if any. */
    public Optional<X509Certificate> certificate() {
        return current.material().own().map(Material.Own::certificate);
    }

    /** The identity in it. */
    public Optional<Identity> identity() {
        return certificate().map(CertificateIdentity::of);
    }

    /**
     * Uses the private key, such as to sign a request with it.
     *
     * @throws TlsException if this program has none
     */
    public <T> T withKey(Function<PrivateKey, T> use) {
        return use.apply(current.material()
                .own()
                .orElseThrow(() -> new TlsException("this program has no private key"))
                .key());
    }

    /** As {@link #withKey}, with the certificate chain of the key: both are of the same moment. */
    <T> T withOwn(BiFunction<List<X509Certificate>, PrivateKey, T> use) {
        Material.Own own =
                current.material().own().orElseThrow(() -> new TlsException("this program has no private key"));
        return use.apply(own.chain(), own.key());
    }

    /** The trusted CAs. */
    public List<X509Certificate> ca() {
        return current.material().ca();
    }

    /** Has something run after each change. */
    public void onChange(Runnable listener) {
        listeners.add(listener);
    }

    private void watch(Duration every) {
        while (!Thread.currentThread().isInterrupted()) {
            try {
                warnBeforeTheEnd();
                Thread.sleep(every);
                reload();
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    /**
     * Once an hour, when less than a sixth of the certificate's life is left. Something that should have renewed it did
     * not.
     */
    private void warnBeforeTheEnd() {
        Instant now = Instant.now();
        if (now.isBefore(warnAgain)) {
            return;
        }
        certificate().ifPresent(certificate -> {
            Instant end = certificate.getNotAfter().toInstant();
            Duration life = Duration.between(certificate.getNotBefore().toInstant(), end);
            if (now.isAfter(end.minus(life.dividedBy(WARN_IN_LAST)))) {
                warnAgain = now.plus(WARN_EVERY);
                LOG.warn(
                        "certificate '{}' ends at {}; renew it ('coordinator certs renew', or tls.renew of an agent)",
                        CertificateIdentity.subject(certificate),
                        end);
            }
        });
    }

    /** Looks at the files now; true if others are in use after it. */
    public synchronized boolean reload() {
        try {
            Material.Texts texts = Material.Texts.read(files);
            if (texts.equals(current.texts())) {
                lastFault = "";
                return false;
            }
            current = Current.of(files, texts);
            listeners.forEach(Runnable::run);
            lastFault = "";
            LOG.info("certificates changed and are in use: {}", describe());
            return true;
        } catch (RuntimeException e) {
            String fault = String.valueOf(e.getMessage());
            if (!fault.equals(lastFault)) {
                lastFault = fault;
                LOG.error("changed certificates are not used, the earlier ones stay in use: {}", fault);
            }
            return false;
        }
    }

    private String describe() {
        return certificate()
                .map(certificate -> "'%s', valid until %s"
                        .formatted(
                                CertificateIdentity.subject(certificate),
                                certificate.getNotAfter().toInstant()))
                .orElse("CAs only");
    }

    @Override
    public void close() {
        watch.interrupt();
    }
}
