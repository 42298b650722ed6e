package io.farpage.agent.control.link;

import java.util.Optional;
import java.util.OptionalLong;

/**
 * Decides the next step of the link to one peer. A pure function without clock or I/O, so that tests can run every
 * interleaving.
 *
 * <p>Each side publishes, toward the other, an <em>offer</em>: its queue pairs' endpoints under a random attempt number
 * and, once it has connected them, which attempt of the peer they answer. The rules:
 *
 * <ul>
 *   <li>An offer may be connected to if it answers nothing and was not connected to before, or if it answers the very
 *       attempt that one has on offer. So an offer that the peer has long since used for a link that died is never
 *       taken for a fresh one.
 *   <li>A side that is connected and sees the peer publish another attempt disconnects: the link is dead on the peer's
 *       side.
 *   <li>A side without an offer answers the peer's if that is fresh, and otherwise publishes its own when it wants a
 *       link.
 *   <li>A side with more shards than the peer's offer has queue pairs cannot connect to it, and publishes its own; the
 *       peer connects to that with as many queue pairs as it asks for.
 * </ul>
 *
 * <p>If both sides start at once, both publish fresh offers and each connects to the other's: one link. If both have
 * lost their link, they do the same. Two offers cannot ignore each other, since each would have to be older than the
 * other.
 */
final class Handshake {
    private Handshake() {}

    /** The state of this side. */
    sealed interface Mine {
        /** No queue pairs. */
        record Nothing() implements Mine {}

        /** Queue pairs in INIT, published. */
        record Offered(long attempt) implements Mine {}

        /** Queue pairs connected to the peer's {@code to}. */
        record Connected(long attempt, long to) implements Mine {}

        /** Queue pairs that the shards have not released yet. */
        record Leaving() implements Mine {}
    }

    /**
     * What the peer has published toward this side.
     *
     * @param suffices whether it has a queue pair for each of this side's shards
     */
    record Theirs(long attempt, OptionalLong answers, boolean suffices) {}

    /** The next step. */
    enum Step {
        /** Nothing until the state changes. */
        WAIT,
        /** Create queue pairs, move them to INIT and publish them. */
        OFFER,
        /** Create queue pairs, connect them to the peer's offer and publish them as its answer. */
        ANSWER,
        /** Connect the queue pairs on offer to the peer's, and publish that. */
        CONNECT,
        /** Remove the queue pairs from the shards. */
        DISCONNECT
    }

    /**
     * @param theirs the peer's offer; empty if it has none
     * @param lastUsed the offer of the peer that was connected to last, in any attempt; empty if none was
     * @param eager whether this side starts without waiting for the peer
     */
    static Step next(Mine mine, Optional<Theirs> theirs, OptionalLong lastUsed, boolean eager) {
        return switch (mine) {
            case Mine.Leaving() -> Step.WAIT;
            case Mine.Connected(long attempt, long to) ->
                theirs.isPresent() && theirs.get().attempt() != to ? Step.DISCONNECT : Step.WAIT;
            case Mine.Offered(long attempt) ->
                theirs.isPresent() && mayConnect(theirs.get(), attempt, lastUsed) ? Step.CONNECT : Step.WAIT;
            case Mine.Nothing() -> {
                if (theirs.isPresent() && isFresh(theirs.get(), lastUsed)) {
                    yield Step.ANSWER;
                }
                // An offer that is not fresh is connected to queue pairs of this side that are gone, or has too few
                // queue
                // pairs. This side's own offer tells the peer so.
                yield eager || theirs.isPresent() ? Step.OFFER : Step.WAIT;
            }
        };
    }

    private static boolean mayConnect(Theirs theirs, long attempt, OptionalLong lastUsed) {
        return theirs.answers().isPresent() ? theirs.answers().getAsLong() == attempt : isFresh(theirs, lastUsed);
    }

    private static boolean isFresh(Theirs theirs, OptionalLong lastUsed) {
        return theirs.suffices()
                && theirs.answers().isEmpty()
                && (lastUsed.isEmpty() || lastUsed.getAsLong() != theirs.attempt());
    }
}
