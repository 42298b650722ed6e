package io.farpage.coordinator.client;

import io.farpage.coordinator.model.RebuildStatus;
import io.farpage.rest.Operation.Target;
import io.farpage.tls.Credentials;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * Sends requests to the coordinator that leads, each until a deadline: again when that coordinator lets wait, and to
 * another one when it is not reached. Thread-safe.
 */
final class Transport implements AutoCloseable {

    private static final int TOO_MANY_REQUESTS = 429;
    private static final int SERVICE_UNAVAILABLE = 503;
    /** Header of a follower's refusals: the leader's URL, or {@link #NO_LEADER}. */
    static final String LEADER = "Farpage-Leader";

    static final String NO_LEADER = "none";
    private static final long LONGEST_PAUSE = 250;
    private static final Duration DEFAULT_PAUSE = Duration.ofSeconds(1);

    private final Addresses addresses;
    private final Duration deadline;
    private final Connections connections;
    private final Sender sender;
    private final Answers answers;
    private final CountDownLatch ended = new CountDownLatch(1);

    /**
     * Sends nothing yet.
     *
     * @param connections closed with this
     */
    Transport(
            Addresses addresses,
            Duration deadline,
            Connections connections,
            Allegiance allegiance,
            Credentials credentials) {
        this.addresses = addresses;
        this.deadline = deadline;
        this.connections = connections;
        this.sender = new Sender(addresses, connections, allegiance, credentials);
        this.answers = new Answers(addresses, allegiance);
    }

    /** Sends a request and reads the answer; the extra time is for calls that the coordinator itself lets wait. */
    <B, A> A call(Target<B, A> to, @Nullable B body, Duration extra) throws CoordinatorException {
        Call call = new Call(to, body);
        return answers.read(to.operation(), call, send(call, deadline.plus(extra)));
    }

    <B, A> A call(Target<B, A> to, B body) throws CoordinatorException {
        return call(to, body, Duration.ZERO);
    }

    <A> A call(Target<Void, A> to) throws CoordinatorException {
        return call(to, null, Duration.ZERO);
    }

    /** Sends a request whose answer has no content that matters. */
    <B> void tell(Target<B, ?> to, @Nullable B body) throws CoordinatorException {
        Call call = new Call(to, body);
        answers.requireSuccess(call, send(call, deadline));
    }

    /** A call to a coordinator that is being rebuilt. */
    <B> RebuildStatus rebuild(Target<B, RebuildStatus> to, @Nullable B body) throws CoordinatorException {
        Call call = new Call(to, body);
        return answers.readRebuild(call, send(call, deadline));
    }

    /** Gets something that may not be there. */
    <A> Optional<A> find(Target<Void, A> to) throws CoordinatorException {
        try {
            return Optional.of(call(to));
        } catch (CoordinatorRefusedException e) {
            if (e.isNotFound()) {
                return Optional.empty();
            }
            throw e;
        }
    }

    @Override
    public void close() {
        ended.countDown();
        connections.close();
    }

    /**
     * Sends a request, and sends it again when the coordinator says so (429, or 503, with Retry-After), within the
     * deadline. A coordinator that has no time until the deadline is as one that is away: it has done nothing, and the
     * caller tries later.
     */
    private HttpResponse<byte[]> send(Call call, Duration limit) throws CoordinatorUnreachableException {
        long deadline = System.nanoTime() + limit.toNanos();
        Duration left = limit;
        while (true) {
            HttpResponse<byte[]> response = sendToLeader(call, left);
            Optional<Duration> pause = pause(response);
            if (pause.isEmpty()) {
                return response;
            }
            left = Duration.ofNanos(deadline - System.nanoTime()).minus(pause.get());
            if (!left.isPositive() && response.statusCode() == SERVICE_UNAVAILABLE) {
                return response;
            }
            if (!left.isPositive()) {
                throw new CoordinatorUnreachableException(
                        "coordinator at %s has no time for this agent (%s): status %d, try again in %d s"
                                .formatted(
                                        addresses.current(),
                                        call.operation(),
                                        response.statusCode(),
                                        pause.get().toSeconds()));
            }
            awaitPause(call, pause.get());
        }
    }

    /** How long the coordinator wants the client to wait (Retry-After in seconds, RFC 9110, section 10.2.3). */
    private static Optional<Duration> pause(HttpResponse<byte[]> response) {
        Optional<String> header = response.headers().firstValue("Retry-After");
        boolean busy = response.statusCode() == TOO_MANY_REQUESTS
                || (response.statusCode() == SERVICE_UNAVAILABLE && header.isPresent());
        if (!busy) {
            return Optional.empty();
        }
        return Optional.of(header.filter(text -> text.matches("\\d{1,6}"))
                .map(text -> Duration.ofSeconds(Long.parseLong(text)))
                .orElse(DEFAULT_PAUSE));
    }

    private void awaitPause(Call call, Duration pause) throws CoordinatorUnreachableException {
        try {
            if (ended.await(pause.toMillis(), TimeUnit.MILLISECONDS)) {
                throw unreachable(call, "this client was closed", new IOException("closed"));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw unreachable(call, "interrupted while the coordinator lets wait", e);
        }
    }

    private CoordinatorUnreachableException unreachable(Call call, String reason, Throwable cause) {
        return CoordinatorUnreachableException.of(addresses.current(), call, reason, cause);
    }

    /**
     * Sends a request to the coordinator that leads. It is sent again, to another coordinator, only where none can have
     * carried it out: nothing listened, or a follower refused it; and a call with a key once more if its answer was
     * lost. A call that fails otherwise is the caller's to repeat, and goes to another coordinator then.
     */
    private HttpResponse<byte[]> sendToLeader(Call call, Duration limit) throws CoordinatorUnreachableException {
        long end = System.nanoTime() + limit.toNanos();
        Duration left = limit;
        boolean repeatable = call.key().isPresent();
        for (int tries = 1; ; tries++) {
            URI base = addresses.current();
            boolean last = !pauseFits(end);
            try {
                HttpResponse<byte[]> response = sender.send(base, call, left);
                Optional<String> leader = response.headers().firstValue(LEADER);
                if (leader.isEmpty()) {
                    return response;
                }
                addresses.follow(base, leader(leader.get(), base));
                if (last) {
                    // A follower's refusal says nothing of the cluster's state, so the allegiance is not asked.
                    throw new CoordinatorUnreachableException(
                            "coordinator at %s follows (%s): the leader that it names, '%s', was not reached in time"
                                    .formatted(base, call.operation(), leader.get()));
                }
            } catch (CoordinatorUnreachableException e) {
                addresses.leave(base);
                boolean absent = e.getCause() instanceof ConnectException;
                boolean repeats = repeatable && isAnswerLost(e.getCause());
                if (last || connections.isClosed() || !(repeats || (absent && addresses.size() > 1))) {
                    throw e;
                }
                repeatable &= !repeats;
            }
            if (tries % 2 == 0) {
                awaitPause(call, Duration.ofMillis(ThreadLocalRandom.current().nextLong(50, LONGEST_PAUSE)));
            }
            left = Duration.ofNanos(end - System.nanoTime());
        }
    }

    /** Whether the connection broke after it was made, so that the coordinator may have carried out the request. */
    private static boolean isAnswerLost(@Nullable Throwable cause) {
        return cause instanceof IOException && !(cause instanceof ConnectException || cause instanceof SSLException);
    }

    private static boolean pauseFits(long end) {
        return end - System.nanoTime() > Duration.ofMillis(2 * LONGEST_PAUSE).toNanos();
    }

    /** The leader that a follower names; the follower itself if it knows of none or the name is no URL. */
    private static URI leader(String named, URI follower) {
        try {
            return named.equals(NO_LEADER) ? follower : URI.create(named);
        } catch (IllegalArgumentException e) {
            return follower;
        }
    }
}
