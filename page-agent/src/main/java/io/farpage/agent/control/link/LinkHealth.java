package io.farpage.agent.control.link;

import java.time.Duration;
import java.util.OptionalLong;

/**
 * How the attempts at one link went, and the pauses that follow: one before the next attempt, and one during which RDMA
 * is not used while TCP can replace it. Used by the links' thread, except for {@link #lastFailure}.
 */
final class LinkHealth {
    private final LinkContext context;
    private final Backoff attempts;
    private final Backoff rdma;
    private OptionalLong upSince = OptionalLong.empty();
    /** Whether the link failed last because the peer refused a request. */
    private boolean refused;

    /** Failures, those of trials included. */
    private long failures;

    private boolean lastWasRefusal;

    private volatile String lastFailure = "";

    LinkHealth(LinkContext context) {
        LinkOptions options = context.options();
        this.context = context;
        this.attempts = new Backoff(options.firstBackoff(), options.longestBackoff());
        this.rdma = new Backoff(options.rdmaPause(), options.longestRdmaPause());
    }

    /** Whether the pause after a failure is over. */
    boolean mayStart(long now) {
        return attempts.isOver(now);
    }

    /** Whether RDMA may be used. */
    boolean mayUseRdma(long now) {
        return rdma.isOver(now);
    }

    /** How long RDMA is not used after its latest failure. */
    Duration rdmaPause() {
        return rdma.pause();
    }

    /** The latest failure; empty if there was none. Any thread. */
    String lastFailure() {
        return lastFailure;
    }

    /** Failures so far, those of trials included. */
    long failures() {
        return failures;
    }

    /** Whether the latest failure was a refusal, by this node or by the peer. */
    boolean lastWasRefusal() {
        return lastWasRefusal;
    }

    /** The devices have changed: RDMA may be used at once. */
    void devicesChanged() {
        rdma.reset();
    }

    /** The link is up. After a refusal the series of pauses goes on until the link has lasted. */
    void cameUp() {
        upSince = OptionalLong.of(context.now());
        if (!refused) {
            attempts.reset();
        }
    }

    /** A trial has replaced the queue pairs of the link. */
    void moved() {
        upSince = OptionalLong.of(context.now());
        lastFailure = "";
    }

    /** The link is removed. */
    void wentDown() {
        upSince = OptionalLong.empty();
    }

    /** The link, which was up or nearly so, has failed. */
    void broke(String reason, boolean byRefusal, boolean overRdma) {
        refused = byRefusal;
        failed(reason, overRdma);
        lastWasRefusal = byRefusal;
    }

    /** An attempt has failed. */
    void failed(String reason, boolean overRdma) {
        long now = context.now();
        failures++;
        lastWasRefusal = false;
        pause(reason, attempts, context.options().longestBackoff(), now);
        if (overRdma && context.transports().hasFallback()) {
            pause(reason, rdma, context.options().longestRdmaPause(), now);
        }
        upSince = OptionalLong.empty();
    }

    private void pause(String reason, Backoff backoff, Duration longest, long now) {
        lastFailure = reason;
        if (upSince.isPresent() && now - upSince.getAsLong() > longest.toNanos()) {
            backoff.reset();
        }
        backoff.failed(now);
    }

    /** RDMA has failed in a trial, or before the link had a transport. */
    void rdmaFailed(String reason) {
        lastFailure = "rdma: " + reason;
        failures++;
        lastWasRefusal = false;
        if (context.transports().hasFallback()) {
            rdma.failed(context.now());
        }
    }

    /** No attempt is allowed. Returns whether that is new. */
    boolean notAllowed(String reason) {
        boolean isNew = !reason.equals(lastFailure);
        lastFailure = reason;
        attempts.failed(context.now());
        if (isNew) {
            failures++;
            lastWasRefusal = true;
        }
        return isNew;
    }
}
