package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.Hosted;
import io.farpage.coordinator.model.HostedAck;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Records what each node hosts, and up to which revision the node has acknowledged that it keeps this record. A coordinator is rebuilt from these
 * records, so a space is attached only after its homes have the record of it. Thread-safe.
 */
public final class Hosting {

    private static final long LONGEST_WAIT_NANOS = Duration.ofSeconds(2).toNanos();

    private record Known(Incarnation incarnation, long revision) {}

    private final Ledger ledger;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition told = lock.newCondition();
    private final Map<String, Known> known = new HashMap<>();
    private final Map<Long, Long> created = new HashMap<>();

    /** Works on a ledger. */
    public Hosting(Ledger ledger) {
        this.ledger = ledger;
    }

    /** What a node hosts. */
    public Hosted of(String node) {
        // A change that changes nothing: within it revision and state are of one moment.
        return ledger.change(draft -> {
            draft.requireNode(node);
            State state = ledger.state();
            List<SpaceExtents> spaces = state.spaces().values().stream()
                    .filter(space -> homes(state, space).contains(node))
                    .map(space -> new SpaceExtents(space, state.index(), state.extentsOf(space)))
                    .toList();
            return new Hosted(ledger.revision(), spaces, List.copyOf(draft.releases.under(node + "/")));
        });
    }

    private static Set<String> homes(State state, Space space) {
        Set<String> homes = new HashSet<>();
        state.extentsOf(space)
                .forEach(extent -> extent.homes().stream().map(ExtentHome::node).forEach(homes::add));
        return homes;
    }

    /** A node keeps what it hosts as of a revision. */
    public void acknowledge(String node, HostedAck ack) {
        Node registered =
                Optional.ofNullable(ledger.state().nodes().get(node)).orElseThrow(() -> Draft.unknownNode(node));
        if (!registered.incarnation().equals(ack.incarnation())) {
            throw Draft.stale(node, ack.incarnation(), registered.incarnation());
        }
        lock.lock();
        try {
            known.put(node, new Known(ack.incarnation(), ack.revision()));
            told.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** A space was made; its homes do not know it yet. */
    public void created(Space space) {
        lock.lock();
        try {
            created.put(space.id(), ledger.revision());
            created.keySet().removeIf(id -> !ledger.state().spaces().containsKey(State.idKey(id)));
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits until all homes of a space that are alive keep it, two seconds at most. Homes that have never said that they keep anything are not
     * waited for.
     *
     * @throws InterruptedException if interrupted while waiting
     */
    public void awaitKnown(Space space) throws InterruptedException {
        long left = LONGEST_WAIT_NANOS;
        lock.lock();
        try {
            Long revision = created.get(space.id());
            if (revision == null) {
                return;
            }
            while (left > 0 && anyLags(space, revision)) {
                left = told.awaitNanos(left);
            }
            if (left > 0) {
                created.remove(space.id());
            }
        } finally {
            lock.unlock();
        }
    }

    private boolean anyLags(Space space, long revision) {
        State state = ledger.state();
        return homes(state, space).stream()
                .flatMap(id -> Optional.ofNullable(state.nodes().get(id)).stream())
                .filter(node -> node.status() != NodeStatus.FAILED)
                .anyMatch(node -> Optional.ofNullable(known.get(node.id()))
                        .filter(knows -> knows.incarnation().equals(node.incarnation()))
                        .filter(knows -> knows.revision() < revision)
                        .isPresent());
    }
}
