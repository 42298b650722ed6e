package io.farpage.coordinator.server;

import io.farpage.access.Terms;
import io.farpage.audit.Audit;
import io.farpage.audit.AuditKeys;
import io.farpage.config.Config;
import io.farpage.config.ConfigException;
import io.farpage.config.Version;
import io.farpage.coordinator.access.AccessRecords;
import io.farpage.coordinator.access.Issuer;
import io.farpage.coordinator.access.JoinTokens;
import io.farpage.coordinator.access.NodeKeys;
import io.farpage.coordinator.access.Tokens;
import io.farpage.coordinator.config.Settings;
import io.farpage.limit.LimitKeys;
import io.farpage.rest.AccessControl;
import io.farpage.rest.Entrance;
import io.farpage.rest.RequestAudit;
import io.farpage.rest.RestServer;
import io.farpage.tls.Tls;
import io.farpage.tls.TlsKeys;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** The coordinator's certificates and tokens, and how it serves its REST interface with them. */
final class Doors {

    private final Optional<Tls> tls;
    private final AccessRecords records;
    private final Tokens tokens;
    private final JoinTokens joinTokens;
    private final NodeKeys keys;
    private final LongSupplier limitsClock;
    private @Nullable Audit audit;

    private Doors(Optional<Tls> tls, AccessRecords records, LongSupplier limitsClock) {
        this.tls = tls;
        this.limitsClock = limitsClock;
        this.records = records;
        this.tokens = new Tokens(records);
        this.joinTokens = new JoinTokens(records);
        this.keys = new NodeKeys(records, System::nanoTime);
    }

    /**
     * Opens what is configured.
     *
     * @throws ConfigException if certificates cannot be used
     */
    static Doors open(Config config) {
        return open(config, System::nanoTime);
    }

    /**
     * Opens what is configured.
     *
     * @param limitsClock monotonic nanoseconds, by which rates are limited
     * @throws ConfigException if certificates cannot be used
     */
    static Doors open(Config config, LongSupplier limitsClock) {
        Optional<Tls> tls = TlsKeys.open(config);
        if (tls.isEmpty() && config.isSet(Settings.CA_KEY)) {
            throw new ConfigException(
                    List.of("tls.ca_key is set and tls.certificate is not: certificates are issued over TLS only"));
        }
        return new Doors(tls, StoreAccess.records(config), limitsClock);
    }

    private AccessControl control(Config config) {
        Set<String> settings =
                config.get(Settings.NODES_CREATE_SPACES) ? Set.of(Settings.NODES_CREATE_SPACES.name()) : Set.of();
        return AccessControl.of(new Terms(Optional.empty(), settings), tokens, keys);
    }

    /** The audit, which is opened at the first call: its directory is the store's, which the store makes. */
    synchronized Audit audit(Config config) {
        Audit open = audit;
        if (open == null) {
            open = AuditKeys.open(
                    config, new Audit.Source("coordinator", ""), Optional.of(config.get(Settings.DIRECTORY)));
            audit = open;
        }
        return open;
    }

    /** Writes what the audit has yet to write, and lets go of the tokens and the files of the certificates. */
    synchronized void close() {
        tls.ifPresent(Tls::close);
        records.close();
        if (audit != null) {
            audit.close();
        }
    }

    /** How to serve; without TLS, all that reach the service may do everything. */
    RestServer.Options options(Config config) {
        List<String> names = new ArrayList<>(config.get(Settings.NAMES));
        names.add(config.get(Settings.LISTEN).host());
        AccessControl decides = (tls.isPresent() ? control(config) : AccessControl.open(names))
                .limitedBy(LimitKeys.open(config, limitsClock))
                .auditedBy(new RequestAudit(audit(config)));
        return new RestServer.Options(
                "coordinator",
                Version.text(),
                new Entrance(config.get(Settings.LISTEN), tls, decides),
                Math.toIntExact(config.get(Settings.MAX_BODY)),
                () -> true);
    }

    /** What is known of the keys of nodes. */
    NodeKeys keys() {
        return keys;
    }

    /** Issues nodes' certificates. */
    Issuer issuer(Config config) {
        return new Issuer(tls, config.get(Settings.CA_KEY), config.get(Settings.LIFETIME), joinTokens, keys);
    }
}
