package io.farpage.agent.doctor;

import static io.farpage.agent.doctor.Line.check;

import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.config.AgentOptions;
import io.farpage.config.ConfigException;
import io.farpage.config.HostPort;
import io.farpage.coordinator.client.Allegiance;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.tls.Credentials;
import io.farpage.tls.Tls;
import io.farpage.tls.TlsException;
import io.farpage.tls.TlsKeys;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.time.Duration;

/** Whether the agent could listen, and whether the coordinator answers. */
final class ServiceChecks {
    private static final Duration DEADLINE = Duration.ofSeconds(2);

    private ServiceChecks() {}

    /**
     * Takes a port for a moment.
     *
     * @param key that configures it, for messages
     */
    static Line listen(String key, HostPort listen) {
        Line.Check check = check("net.listen", "listen " + key);
        if (listen.port() == 0) {
            return check.ok(listen + ": the system chooses a free port");
        }
        try (ServerSocket socket = new ServerSocket()) {
            // As the agent does: connections of an agent that just ended shall not count.
            socket.setReuseAddress(true);
            socket.bind(new InetSocketAddress(InetAddress.getByName(listen.host()), listen.port()));
            return check.ok(listen + " is free");
        } catch (IOException e) {
            return check.fail(
                    listen + " cannot be listened on: " + e.getMessage() + "; a running agent of this node has it too",
                    "ss -ltnp 'sport = :" + listen.port() + "'");
        }
    }

    /** A default URL need not answer, a configured one must. */
    static Line coordinator(Host host) {
        Line.Check check = check("cluster.coordinator", "coordinator");
        String url = host.config().get(AgentKeys.COORDINATOR_URL);
        try (CoordinatorClient client = new CoordinatorClient(
                AgentOptions.coordinators(host.config()),
                DEADLINE,
                new Allegiance(),
                Credentials.of(TlsKeys.files(host.config()).map(Tls::read)))) {
            String cluster =
                    client.cluster().map(found -> "cluster " + found.name()).orElse("no cluster formed yet");
            return check.ok(url + " answers: " + cluster);
        } catch (CoordinatorException e) {
            return check.found(
                    host.config().isSet(AgentKeys.COORDINATOR_URL) ? Level.FAIL : Level.WARN,
                    e.getMessage() + "; the agent would wait for it",
                    "curl -sS -m 2 " + url.split(",", -1)[0].strip() + "/health || coordinator run");
        } catch (TlsException | ConfigException e) {
            return check.fail(
                    "the certificates cannot be used: " + e.getMessage(), "openssl x509 -in FILE -noout -text");
        } catch (IllegalArgumentException e) {
            return check.fail(
                    "coordinator.url '" + url + "': " + e.getMessage(),
                    "export FARPAGE_COORDINATOR_URL=http://127.0.0.1:7400");
        }
    }
}
