package io.farpage.coordinator.client;

import io.farpage.coordinator.model.ClusterId;
import io.farpage.coordinator.model.Epoch;
import io.farpage.coordinator.model.Seen;
import io.farpage.coordinator.model.Stamp;
import io.farpage.rest.Problem;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Which coordinator an agent obeys: the one whose history contains all that the agent has seen. Before {@link #join}
 * every coordinator is obeyed, and the last answer is remembered. After {@link #join} an answer is accepted only
 *
 * <ul>
 *   <li>from the same cluster id, and
 *   <li>from the epoch known, or from a later one that began at or after the highest revision seen.
 * </ul>
 *
 * <p>A store that was lost has another cluster id. A store that was rolled back starts a later epoch at a lower
 * revision. Two coordinators on copies of one store have epochs that go back or that differ in their nonce.
 * Thread-safe.
 */
public final class Allegiance {

    /** What an agent has seen, and whether it obeys the coordinator that answered last. */
    public record Status(boolean joined, Optional<Seen> seen, Optional<String> refusal, long refusedAnswers) {}

    private final Consumer<Seen> keeper;
    private boolean joined;
    private @Nullable Seen seen;
    private @Nullable String refusal;
    private boolean rebuilding;
    private long refusedAnswers;

    /** Makes the allegiance of an agent that has seen nothing yet. */
    public Allegiance() {
        this(Optional.empty(), _ -> {});
    }

    /**
     * Makes the allegiance of an agent that goes on where an earlier process ended.
     *
     * @param before what that process had seen; if present, the agent counts as joined
     * @param keeper gets what was seen, from {@link #join} on, before the answer is used; must not wait
     */
    public Allegiance(Optional<Seen> before, Consumer<Seen> keeper) {
        this.keeper = keeper;
        seen = before.orElse(null);
        joined = before.isPresent();
    }

    /** From now on only a coordinator is obeyed whose history contains all that was seen. */
    public synchronized void join() {
        joined = true;
        keep();
    }

    private void keep() {
        if (joined && seen != null) {
            keeper.accept(seen);
        }
    }

    /** What to send with a request; empty before {@link #join}. */
    synchronized Optional<Seen> seen() {
        return joined ? Optional.ofNullable(seen) : Optional.empty();
    }

    /** The state now. */
    public synchronized Status status() {
        return new Status(joined, Optional.ofNullable(seen), Optional.ofNullable(refusal), refusedAnswers);
    }

    /**
     * Takes note of an answer.
     *
     * @param stamp of the answer, if it has one
     * @param problem that the answer is, if it is one
     * @return why the answer must not be used; empty if it may
     */
    synchronized Optional<String> check(Optional<Stamp> stamp, Optional<Problem> problem) {
        Optional<String> reason = judge(stamp, problem);
        refusal = reason.orElse(null);
        rebuilding = problem.filter(Allegiance::isRebuilding).isPresent();
        if (reason.isPresent()) {
            refusedAnswers++;
        } else if (stamp.isPresent()) {
            remember(stamp.get());
        }
        return reason;
    }

    private Optional<String> judge(Optional<Stamp> stamp, Optional<Problem> problem) {
        if (problem.isPresent() && isRebuilding(problem.get())) {
            return Optional.of(problem.get().detail());
        }
        Seen known = seen;
        if (!joined || known == null) {
            return Optional.empty();
        }
        if (stamp.isEmpty()) {
            return Optional.of("its answer carries no cluster id; expected is " + known.cluster());
        }
        Stamp now = stamp.get();
        if (!now.cluster().equals(known.cluster())) {
            return Optional.of("it keeps cluster %s, and this node has joined cluster %s"
                    .formatted(now.cluster(), known.cluster()));
        }
        return judgeHistory(now, known)
                .or(() -> problem.filter(p -> p.is("behind") || p.is("other-cluster"))
                        .map(Problem::detail));
    }

    private static Optional<String> judgeHistory(Stamp now, Seen known) {
        Epoch epoch = now.epoch();
        if (epoch.equals(known.epoch())) {
            return Optional.empty();
        }
        if (epoch.number() <= known.epoch().number()) {
            return Optional.of(("it is in epoch %s, and this node has seen epoch %s: its store is an older copy, or two"
                            + " coordinators run on copies of one store")
                    .formatted(epoch, known.epoch()));
        }
        if (now.start() < known.revision()) {
            return Optional.of(
                    "its epoch %s began at revision %d, and this node has seen revision %d: its store is an older copy"
                            .formatted(epoch, now.start(), known.revision()));
        }
        return Optional.empty();
    }

    private void remember(Stamp now) {
        long revision = Optional.ofNullable(seen)
                .filter(known -> known.cluster().equals(now.cluster()))
                .filter(known -> known.epoch().equals(now.epoch()))
                .map(known -> Math.max(known.revision(), now.revision()))
                .orElse(now.revision());
        Seen latest = new Seen(now.cluster(), now.epoch(), revision);
        if (!latest.equals(seen)) {
            seen = latest;
            keep();
        }
    }

    /** Whether the coordinator that answered last waits for the reports of its rebuild. */
    public synchronized boolean isRebuilding() {
        return rebuilding;
    }

    static boolean isRebuilding(Problem problem) {
        return problem.is("rebuilding");
    }

    /** The cluster that was joined, if any answer carried its id. */
    public synchronized Optional<ClusterId> cluster() {
        return Optional.ofNullable(seen).map(Seen::cluster);
    }
}
