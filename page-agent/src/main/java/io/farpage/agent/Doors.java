package io.farpage.agent;

import io.farpage.access.Identity;
import io.farpage.access.TokenRefusedException;
import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.config.AgentOptions;
import io.farpage.agent.rest.Rights;
import io.farpage.config.Config;
import io.farpage.config.ConfigException;
import io.farpage.config.HostPort;
import io.farpage.rest.AccessControl;
import io.farpage.rest.Entrance;
import io.farpage.tls.Credentials;
import io.farpage.tls.Exposure;
import io.farpage.tls.Tls;
import io.farpage.tls.TlsKeys;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The agent's certificate: what it shows to the coordinator and on its own REST API, and which node it is for. */
final class Doors implements AutoCloseable {

    private final Config config;
    private final Optional<Tls> tls;
    private final String node;

    private Doors(Config config, Optional<Tls> tls, String node) {
        this.config = config;
        this.tls = tls;
        this.node = node;
    }

    /**
     * Opens what is configured.
     *
     * @throws ConfigException if certificates cannot be used or are another node's, or if other hosts would be served without them
     */
    static Doors open(Config config) {
        Optional<Tls> tls = TlsKeys.open(config);
        try {
            if (tls.isEmpty()) {
                checkExposure(config);
            } else if (!config.get(AgentKeys.COORDINATOR_URL).startsWith("https:")) {
                throw new ConfigException(
                        List.of("coordinator.url: '%s' is not valid: with tls.certificate it must be https://"
                                .formatted(config.get(AgentKeys.COORDINATOR_URL))));
            }
            return new Doors(config, tls, node(config, tls));
        } catch (RuntimeException e) {
            tls.ifPresent(Tls::close);
            throw e;
        }
    }

    private static void checkExposure(Config config) {
        if (config.get(AgentKeys.COORDINATOR_URL).startsWith("https:")) {
            throw new ConfigException(List.of(
                    "coordinator.url: '%s' is not valid without tls.certificate, tls.key and tls.ca; 'page-agent join' gets them"
                            .formatted(config.get(AgentKeys.COORDINATOR_URL))));
        }
        HostPort listen = config.get(AgentKeys.API_LISTEN);
        String tcp = config.get(AgentKeys.TCP_ADDRESS);
        List<Exposure.Address> addresses = new ArrayList<>();
        addresses.add(new Exposure.Address(AgentKeys.API_LISTEN.name(), listen.toString(), listen.host()));
        addresses.add(new Exposure.Address(AgentKeys.TCP_ADDRESS.name(), tcp, tcp));
        Exposure.check(config, addresses);
    }

    /** The node's id, which the certificate decides. */
    private static String node(Config config, Optional<Tls> tls) {
        if (tls.isEmpty()) {
            return AgentOptions.nodeId(config, Host.name());
        }
        if (!(tls.get().identity().orElseThrow() instanceof Identity.Node(String id))) {
            throw new ConfigException(
                    List.of("tls.certificate: '%s' is not a node's: %s; 'coordinator certs issue NODE' makes one"
                            .formatted(
                                    config.get(TlsKeys.CERTIFICATE).orElseThrow(),
                                    tls.get().identity().orElseThrow())));
        }
        Optional<String> configured = config.get(AgentKeys.NODE_ID);
        if (configured.isPresent() && !configured.get().equals(id)) {
            throw new ConfigException(List.of("node.id: '%s' is not valid: tls.certificate is that of node '%s'"
                    .formatted(configured.get(), id)));
        }
        return id;
    }

    String node() {
        return node;
    }

    Optional<Tls> tls() {
        return tls;
    }

    URI coordinator() {
        return URI.create(config.get(AgentKeys.COORDINATOR_URL));
    }

    Credentials credentials() {
        return Credentials.of(tls);
    }

    /** How the agent serves its REST API. Tokens are the coordinator's; an agent takes certificates. */
    Entrance entrance() {
        HostPort listen = config.get(AgentKeys.API_LISTEN);
        if (tls.isPresent()) {
            return new Entrance(listen, tls, AccessControl.of(Rights.table(node), token -> {
                throw new TokenRefusedException("an agent takes certificates and no tokens");
            }));
        }
        List<String> names = new ArrayList<>(config.get(AgentKeys.API_NAMES));
        names.add(listen.host());
        config.get(AgentKeys.API_ADVERTISE).ifPresent(names::add);
        return new Entrance(listen, tls, AccessControl.open(names));
    }

    @Override
    public void close() {
        tls.ifPresent(Tls::close);
    }
}
