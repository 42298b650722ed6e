package io.farpage.it.harness;

import io.farpage.coordinator.client.Allegiance;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.PoolInfo;
import io.farpage.coordinator.model.Registration;
import io.farpage.coordinator.model.Seen;
import io.farpage.tls.Credentials;
import java.net.URI;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * A node without memory that registers in one incarnation after another, keeps its lease meanwhile, and remembers which
 * was acknowledged.
 */
public final class Visitor implements AutoCloseable {
    private static final Duration DEADLINE = Duration.ofSeconds(4);
    private static final Duration PAUSE = Duration.ofMillis(200);
    private static final int BEATS = 10;

    private final String node;
    private final AnswerHistory history;
    private final CoordinatorClient client;
    private final Recurring calls;
    private Optional<Incarnation> acknowledged = Optional.empty();
    /**
     * Whose registration has no answer. One that waits for a connection to heal may still come in, and then is the
     * newest.
     */
    private final Set<Incarnation> unanswered = new HashSet<>();

    private long count;
    /** Since the last registration. Only the thread that calls uses it. */
    private int beats;

    /** Registers and begins. */
    public Visitor(String node, List<URI> coordinators, AnswerHistory history) throws CoordinatorException {
        this.node = node;
        this.history = history;
        Allegiance allegiance = new Allegiance();
        allegiance.join();
        client = new CoordinatorClient(coordinators, DEADLINE, allegiance, Credentials.NONE);
        register();
        calls = new Recurring("visitor", PAUSE, this::call);
    }

    private void call() {
        try {
            if (++beats < BEATS) {
                beat();
            } else {
                register();
                beats = 0;
            }
        } catch (CoordinatorException e) {
            // A new incarnation makes no matter of whether the last one was registered.
            beats = BEATS;
        }
    }

    private void register() throws CoordinatorException {
        Incarnation next = Incarnation.draw();
        synchronized (this) {
            unanswered.add(next);
        }
        AnswerHistory.Point sent = history.now();
        client.register(
                node,
                new Registration(
                        next,
                        node,
                        "127.0.0.1:1",
                        1,
                        1 << 20,
                        List.of(),
                        new PoolInfo(0, 4096, Optional.empty()),
                        List.of(),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty()));
        answered(sent);
        synchronized (this) {
            unanswered.remove(next);
            acknowledged = Optional.of(next);
            count++;
        }
    }

    private void beat() throws CoordinatorException {
        AnswerHistory.Point sent = history.now();
        client.heartbeat(node, currentIncarnation());
        answered(sent);
    }

    private synchronized Incarnation currentIncarnation() {
        return acknowledged.orElseThrow();
    }

    private void answered(AnswerHistory.Point sent) {
        Seen seen = client.allegiance().status().seen().orElseThrow();
        history.answered(sent, client.base(), seen.cluster(), seen.epoch(), seen.revision());
    }

    /** What is wrong with what the coordinator has of the node; empty if nothing is. */
    public Optional<String> check(CoordinatorClient through) throws CoordinatorException {
        Optional<Incarnation> before;
        synchronized (this) {
            before = acknowledged;
        }
        Optional<Incarnation> found = through.node(node).map(Node::incarnation);
        synchronized (this) {
            boolean isRight = found.equals(before)
                    || found.equals(acknowledged)
                    || found.filter(unanswered::contains).isPresent();
            return isRight
                    ? Optional.empty()
                    : Optional.of("incarnation %s of %s was acknowledged, and the coordinator has %s"
                            .formatted(before, node, found));
        }
    }

    /** Registrations acknowledged so far. */
    public synchronized long count() {
        return count;
    }

    @Override
    public void close() {
        calls.close();
        client.close();
    }
}
