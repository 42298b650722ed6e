package io.farpage.agent.node;

import io.farpage.access.CertificateCheck;
import io.farpage.access.Identity;
import io.farpage.access.Terms;
import io.farpage.access.TokenRefusedException;
import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.config.AgentOptions;
import io.farpage.agent.control.socket.SocketAccess;
import io.farpage.agent.rest.ApiSocket;
import io.farpage.agent.rest.SocketDirectory;
import io.farpage.agent.rest.SocketRoles;
import io.farpage.audit.Audit;
import io.farpage.audit.AuditKeys;
import io.farpage.config.Config;
import io.farpage.config.ConfigException;
import io.farpage.limit.LimitKeys;
import io.farpage.rest.AccessControl;
import io.farpage.rest.Entrance;
import io.farpage.rest.RequestAudit;
import io.farpage.tls.Credentials;
import io.farpage.tls.Exposure;
import io.farpage.tls.Tls;
import io.farpage.tls.TlsKeys;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** The agent's certificate: what it shows to the coordinator and on its own REST API, and which node it is for. */
public final class Doors implements AutoCloseable {

    private final Config config;
    private final Optional<Tls> tls;
    private final String node;
    private final Audit audit;

    private Doors(Config config, Optional<Tls> tls, String node) {
        this.config = config;
        this.tls = tls;
        this.node = node;
        this.audit = AuditKeys.open(
                config,
                new Audit.Source("page-agent", node),
                config.isSet(AgentKeys.SEAL_DIRECTORY)
                        ? Optional.of(config.get(AgentKeys.SEAL_DIRECTORY))
                        : Optional.empty());
    }

    /**
     * Opens what is configured.
     *
     * @throws ConfigException if certificates cannot be used or are another node's, or if other hosts would be served
     *     without them
     */
    static Doors open(Config config) {
        Optional<Tls> tls = TlsKeys.open(config);
        try {
            if (tls.isEmpty()) {
                checkExposure(config);
            } else if (!allSecure(config)) {
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

    /** The id of the node that is configured, without opening anything. */
    public static String nodeOf(Config config) {
        try (Closer closer = new Closer(TlsKeys.open(config))) {
            return node(config, closer.tls());
        }
    }

    /** Closes what was opened to look at it. */
    private record Closer(Optional<Tls> tls) implements AutoCloseable {
        @Override
        public void close() {
            tls.ifPresent(Tls::close);
        }
    }

    private static boolean allSecure(Config config) {
        return Arrays.stream(config.get(AgentKeys.COORDINATOR_URL).split(",", -1))
                .allMatch(url -> url.strip().startsWith("https:"));
    }

    private static void checkExposure(Config config) {
        if (config.get(AgentKeys.COORDINATOR_URL).contains("https:")) {
            throw new ConfigException(List.of(
                    ("coordinator.url: '%s' is not valid without tls.certificate, tls.key and tls.ca; 'page-agent join'"
                                    + " gets them")
                            .formatted(config.get(AgentKeys.COORDINATOR_URL))));
        }
        String tcp = config.get(AgentKeys.TCP_ADDRESS);
        List<Exposure.Address> addresses = new ArrayList<>();
        config.get(AgentKeys.API_LISTEN)
                .ifPresent(listen -> addresses.add(
                        new Exposure.Address(AgentKeys.API_LISTEN.name(), listen.toString(), listen.host())));
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

    /** The socket on which {@code page-agent mount} passes its file system to a node's agent. */
    public static Path mountSocket(Config config, String node) {
        return config.get(AgentKeys.MOUNT_SOCKET)
                .or(() -> config.get(AgentKeys.API_SOCKET)
                        .map(api -> SocketDirectory.mountsBeside(api.toAbsolutePath(), node)))
                .orElseGet(() -> SocketDirectory.mounts(SocketDirectory.own(), node))
                .toAbsolutePath()
                .normalize();
    }

    String node() {
        return node;
    }

    /** What the agent does and refuses is written to it. */
    Audit audit() {
        return audit;
    }

    Optional<Tls> tls() {
        return tls;
    }

    List<URI> coordinators() {
        return AgentOptions.coordinators(config);
    }

    Credentials credentials() {
        return Credentials.of(tls);
    }

    /**
     * Makes the path of the REST API's Unix socket ready.
     *
     * @throws io.farpage.rest.ListenException if it cannot be listened on
     * @throws IllegalArgumentException if its owner is not known on this host
     */
    ApiSocket socket() {
        SocketAccess access = SocketAccess.of(
                AgentKeys.API_SOCKET_OWNER.name(),
                Integer.parseInt(config.get(AgentKeys.API_SOCKET_MODE), 8),
                config.get(AgentKeys.API_SOCKET_OWNER));
        return ApiSocket.prepare(config.get(AgentKeys.API_SOCKET), node, access);
    }

    /** How the agent serves its REST API: on its Unix socket, and on a TCP address if it has one. */
    Entrance entrance(ApiSocket socket) {
        Terms terms = Terms.ofAgent(node);
        return new Entrance(
                config.get(AgentKeys.API_LISTEN),
                tls,
                guarded(tcpControl(terms)
                        .withSocket(
                                terms,
                                SocketRoles.of(
                                        AgentKeys.API_SOCKET_ROLES.name(), config.get(AgentKeys.API_SOCKET_ROLES)))),
                Optional.of(socket.bindAt()));
    }

    private AccessControl guarded(AccessControl control) {
        return control.limitedBy(LimitKeys.open(config, System::nanoTime)).auditedBy(new RequestAudit(audit));
    }

    /** Tokens are the coordinator's; an agent takes certificates. */
    private AccessControl tcpControl(Terms terms) {
        if (tls.isPresent()) {
            return AccessControl.of(
                    terms,
                    token -> {
                        throw new TokenRefusedException("an agent takes certificates and no tokens");
                    },
                    CertificateCheck.NONE);
        }
        List<String> names = new ArrayList<>(config.get(AgentKeys.API_NAMES));
        config.get(AgentKeys.API_LISTEN).ifPresent(listen -> names.add(listen.host()));
        config.get(AgentKeys.API_ADVERTISE).ifPresent(names::add);
        return AccessControl.open(names);
    }

    @Override
    public void close() {
        tls.ifPresent(Tls::close);
        audit.close();
    }
}
