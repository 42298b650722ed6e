package io.farpage.coordinator;

import io.farpage.config.Config;
import io.farpage.config.ConfigException;
import io.farpage.config.Version;
import io.farpage.coordinator.access.Issuer;
import io.farpage.coordinator.access.JoinTokens;
import io.farpage.coordinator.access.Tokens;
import io.farpage.coordinator.api.Rights;
import io.farpage.rest.AccessControl;
import io.farpage.rest.Entrance;
import io.farpage.rest.RestServer;
import io.farpage.tls.Tls;
import io.farpage.tls.TlsKeys;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The coordinator's certificates and tokens, and how it serves its REST interface with them. */
final class Doors {

    private final Optional<Tls> tls;
    private final Tokens tokens;
    private final JoinTokens joinTokens;

    private Doors(Optional<Tls> tls, Tokens tokens, JoinTokens joinTokens) {
        this.tls = tls;
        this.tokens = tokens;
        this.joinTokens = joinTokens;
    }

    /**
     * Opens what is configured.
     *
     * @throws ConfigException if certificates cannot be used
     */
    static Doors open(Config config) {
        Optional<Tls> tls = TlsKeys.open(config);
        if (tls.isEmpty() && config.isSet(Settings.CA_KEY)) {
            throw new ConfigException(
                    List.of("tls.ca_key is set and tls.certificate is not: certificates are issued over TLS only"));
        }
        return new Doors(
                tls, new Tokens(config.get(Settings.DIRECTORY)), new JoinTokens(config.get(Settings.DIRECTORY)));
    }

    /** Decides by the rights of a coordinator that serves. */
    AccessControl serving() {
        return AccessControl.of(Rights.table(), tokens);
    }

    /** Decides by the rights of a coordinator that is being rebuilt. */
    AccessControl rebuilding() {
        return AccessControl.of(Rights.rebuildTable(), tokens);
    }

    /** How to serve; without TLS, all that reach the service may do everything. */
    RestServer.Options options(Config config, AccessControl control) {
        List<String> names = new ArrayList<>(config.get(Settings.NAMES));
        names.add(config.get(Settings.LISTEN).host());
        return new RestServer.Options(
                "coordinator",
                Version.text(),
                new Entrance(config.get(Settings.LISTEN), tls, tls.isPresent() ? control : AccessControl.open(names)),
                Math.toIntExact(config.get(Settings.MAX_BODY)));
    }

    /** Issues nodes' certificates. */
    Issuer issuer(Config config) {
        return new Issuer(tls, config.get(Settings.CA_KEY), config.get(Settings.LIFETIME), joinTokens);
    }
}
