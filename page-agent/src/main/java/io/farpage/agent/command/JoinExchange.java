package io.farpage.agent.command;

import io.farpage.agent.client.AgentTarget;
import io.farpage.coordinator.model.IssuedCertificate;
import io.farpage.coordinator.model.JoinRequest;
import io.farpage.coordinator.model.operation.ClusterOperations;
import io.farpage.rest.Json;
import io.farpage.tls.CaPin;
import io.farpage.tls.TlsException;
import io.farpage.tls.TlsFailure;
import java.io.IOException;
import java.net.InetAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Sends a join token to the coordinator that leads. A coordinator that follows says which one that is; while none
 * leads, all are asked again until the timeout. A refusal by the leader is final, since the token may be used.
 *
 * @param pin the hash by which every coordinator is known
 * @param from this host's address, the source of the request; empty: the system chooses
 * @param timeout for the whole exchange
 */
record JoinExchange(CaPin pin, Optional<InetAddress> from, Duration timeout) {
    private static final int UNAVAILABLE = 503;
    private static final String LEADER = "Farpage-Leader";
    private static final Duration PAUSE = Duration.ofMillis(300);

    /** The outcome of one request: a certificate, or the reason for the refusal and the leading coordinator. */
    private record Answer(Optional<IssuedCertificate> issued, String reason, Optional<URI> leader) {}

    /**
     * Asks the coordinators in turn.
     *
     * @throws TlsException if the leader refuses, or none answered within the timeout
     */
    IssuedCertificate ask(List<URI> coordinators, JoinRequest request) throws InterruptedException {
        long end = System.nanoTime() + timeout.toNanos();
        HttpClient.Builder builder =
                HttpClient.newBuilder().connectTimeout(timeout).sslContext(pin.context());
        from.ifPresent(builder::localAddress);
        try (HttpClient client = builder.build()) {
            while (true) {
                List<URI> all = new ArrayList<>(coordinators);
                List<String> reasons = new ArrayList<>();
                boolean electing = false;
                for (int i = 0; i < all.size(); i++) {
                    // One that hangs leaves time for the others.
                    long share = (end - System.nanoTime()) / (all.size() - i);
                    Answer answer = ask(client, all.get(i), request, share);
                    if (answer.issued().isPresent()) {
                        return answer.issued().get();
                    }
                    reasons.add(answer.reason());
                    electing |= answer.leader().isPresent();
                    answer.leader().filter(leader -> isNew(leader, all)).ifPresent(all::add);
                }
                if (!electing || end - System.nanoTime() < PAUSE.toNanos()) {
                    throw new TlsException(String.join("; ", reasons));
                }
                Thread.sleep(PAUSE);
            }
        }
    }

    private static boolean isNew(URI leader, List<URI> known) {
        return "https".equals(leader.getScheme())
                && known.stream().noneMatch(one -> leader.getAuthority().equals(one.getAuthority()));
    }

    private Answer ask(HttpClient client, URI coordinator, JoinRequest request, long nanos)
            throws InterruptedException {
        try {
            HttpResponse<byte[]> response = client.send(
                    HttpRequest.newBuilder(coordinator.resolve(ClusterOperations.JOIN.path()))
                            .timeout(Duration.ofNanos(Math.max(1_000_000, nanos)))
                            .header("Content-Type", AgentTarget.JSON)
                            .POST(BodyPublishers.ofByteArray(Json.LENIENT.writeValueAsBytes(request)))
                            .build(),
                    BodyHandlers.ofByteArray());
            if (response.statusCode() / 100 == 2) {
                return new Answer(
                        Optional.of(Json.LENIENT.readValue(response.body(), IssuedCertificate.class)),
                        "",
                        Optional.empty());
            }
            String reason = AgentTarget.detail(response.statusCode(), response.body());
            Optional<String> leader = response.headers().firstValue(LEADER);
            if (response.statusCode() != UNAVAILABLE || leader.isEmpty()) {
                throw new TlsException(reason);
            }
            return new Answer(Optional.empty(), coordinator + ": " + reason, leader.map(JoinExchange::url));
        } catch (HttpTimeoutException e) {
            return failed("no answer from the coordinator at %s within %d ms; raise --timeout if it is slow"
                    .formatted(coordinator, timeout.toMillis()));
        } catch (IOException e) {
            return failed("no answer from the coordinator at %s: %s"
                    .formatted(
                            coordinator,
                            TlsFailure.explain(e, true)
                                    .orElse(e.getMessage() == null ? "nothing listens there" : e.getMessage())));
        }
    }

    private static Answer failed(String reason) {
        return new Answer(Optional.empty(), reason, Optional.empty());
    }

    /** A coordinator that knows of no leader says "none", which is a URL without a host. */
    private static URI url(String header) {
        try {
            return URI.create(header);
        } catch (IllegalArgumentException e) {
            return URI.create("none");
        }
    }
}
