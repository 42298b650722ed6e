package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Grant;
import io.farpage.coordinator.model.Hosted;
import io.farpage.coordinator.model.HostedAck;
import io.farpage.coordinator.model.HostedAttachment;
import io.farpage.coordinator.model.HostedPull;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Collectors;

/**
 * Says what each home must do, and records up to which revision the home has done it. Homes keep what they are told,
 * and a coordinator is rebuilt from that, so a space is attached only after its homes know of it. Thread-safe.
 */
public final class Hosting {

    private static final Duration LONGEST_WAIT = Duration.ofSeconds(2);

    private record Known(Incarnation incarnation, long revision) {}

    private final Ledger ledger;
    private final Grants grants;
    private final long longestWaitNanos;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition told = lock.newCondition();
    private final Map<String, Known> known = new HashMap<>();
    private final Map<Long, Long> created = new HashMap<>();
    /** What homes had acknowledged when they were last waited for in vain. */
    private final Map<String, Known> silent = new HashMap<>();

    /** Works on a ledger. */
    public Hosting(Ledger ledger, Grants grants) {
        this(ledger, grants, LONGEST_WAIT);
    }

    /** @param longestWait for a home that does not acknowledge */
    Hosting(Ledger ledger, Grants grants, Duration longestWait) {
        this.ledger = ledger;
        this.grants = grants;
        longestWaitNanos = longestWait.toNanos();
    }

    /** All that a node must do as a home, as of one revision. */
    public Hosted of(String node) {
        // What a node acknowledges by the revision, it has: both are of one moment.
        Ledger.Moment now = ledger.moment();
        Draft draft = new Draft(now.state());
        draft.requireNode(node);
        List<SpaceExtents> spaces = draft.hostedBy(node).stream()
                .map(space -> new SpaceExtents(space, now.revision(), draft.extents.of(space)))
                .toList();
        List<HostedAttachment> attached = spaces.stream()
                .flatMap(each -> draft.attachedTo(each.space()).stream())
                .map(a -> HostedAttachment.of(a, granted(draft, node, a)))
                .toList();
        List<HostedPull> pulls = spaces.stream()
                .flatMap(each -> Pulls.of(draft, each.space()))
                .filter(pull -> pull.to().id().equals(node) || Pulls.readsFrom(draft, pull, node))
                .map(pull -> hosted(draft, node, pull))
                .toList();
        return new Hosted(
                now.revision(),
                spaces,
                List.copyOf(draft.fences.under(node + "/")),
                attached,
                pulls,
                List.copyOf(draft.releases.under(node + "/")));
    }

    private HostedPull hosted(Draft draft, String home, Pulls.Pull pull) {
        Incarnation incarnation = pull.to().incarnation();
        long granted = grants.find(draft, home, pull.space(), pull.to().id(), Optional.of(pull.extent()))
                .filter(grant -> grant.incarnation().equals(incarnation))
                .map(Grant::version)
                .orElse(0L);
        return new HostedPull(pull.space(), pull.extent(), pull.to().id(), incarnation, granted);
    }

    private long granted(Draft draft, String home, Attachment attachment) {
        return grants.find(draft, home, attachment.space(), attachment.node(), Optional.empty())
                .map(Grant::version)
                .orElse(0L);
    }

    /** The homes of a space, if there is one of that id or name, without one node. */
    public Set<String> homesBeside(String idOrName, String node) {
        State state = ledger.state();
        Set<String> homes = state.space(idOrName).map(state::homesOf).orElse(Set.of());
        return homes.stream().filter(home -> !home.equals(node)).collect(Collectors.toSet());
    }

    /**
     * Waits until homes have acknowledged the changes so far, two seconds at most: then they have revoked the access of
     * nodes that are detached. A home that has failed, leaves or let the time pass before is not waited for.
     *
     * @throws InterruptedException if interrupted while waiting
     */
    public void awaitAcknowledged(Set<String> homes) throws InterruptedException {
        long revision = ledger.revision();
        long left = longestWaitNanos;
        lock.lock();
        try {
            while (left > 0 && homes.stream().anyMatch(home -> lags(home, revision))) {
                left = told.awaitNanos(left);
            }
            homes.stream().filter(home -> lags(home, revision)).forEach(home -> silent.put(home, known.get(home)));
        } finally {
            lock.unlock();
        }
    }

    private boolean lags(String home, long revision) {
        Known knows = known.get(home);
        Node node = ledger.state().nodes().get(home);
        return knows != null
                && node != null
                && knows.incarnation().equals(node.incarnation())
                && knows.revision() < revision
                && !knows.equals(silent.get(home))
                && node.status() != NodeStatus.FAILED
                && node.status() != NodeStatus.LEAVING;
    }

    /**
     * A node has applied all that it hosts as of a revision, has cut incarnations off, and has zeroed ranges. A fence
     * or a release is a row; the revision is remembered by this coordinator alone.
     */
    public void acknowledge(String node, HostedAck ack) {
        if (ack.fenced().isEmpty() && ack.zeroed().isEmpty()) {
            new Draft(ledger.state()).requireNode(node, ack.incarnation());
        } else {
            ledger.change(draft -> {
                draft.requireNode(node, ack.incarnation());
                Fences.acknowledge(draft, node, ack.fenced());
                Spaces.acknowledge(draft, node, ack.zeroed());
                return ack;
            });
        }
        lock.lock();
        try {
            known.put(node, new Known(ack.incarnation(), ack.revision()));
            told.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits until homes that are alive have zeroed what deleted spaces have left there, two seconds at most.
     *
     * @return whether there was anything to wait for
     * @throws InterruptedException if interrupted while waiting
     */
    public boolean awaitZeroed() throws InterruptedException {
        long left = longestWaitNanos;
        lock.lock();
        try {
            boolean wasAny = isAnythingLeft();
            while (left > 0 && isAnythingLeft()) {
                left = told.awaitNanos(left);
            }
            return wasAny;
        } finally {
            lock.unlock();
        }
    }

    private boolean isAnythingLeft() {
        State state = ledger.state();
        return state.releases().keySet().stream()
                .map(key -> state.nodes().get(key.substring(0, key.indexOf('/'))))
                .anyMatch(node -> node != null && node.status() == NodeStatus.ACTIVE);
    }

    /** A space was made; its homes do not know it yet. */
    public void created(Space space) {
        lock.lock();
        try {
            created.putIfAbsent(space.id(), ledger.revision());
            created.keySet().removeIf(id -> !ledger.state().spaces().containsKey(Keys.id(id)));
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits until all homes of a space that are alive keep it, two seconds at most. Homes that have never said that
     * they keep anything are not waited for.
     *
     * @throws InterruptedException if interrupted while waiting
     */
    public void awaitKnown(Space space) throws InterruptedException {
        long left = longestWaitNanos;
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
        return state.homesOf(space).stream()
                .flatMap(id -> Optional.ofNullable(state.nodes().get(id)).stream())
                .filter(node -> node.status() != NodeStatus.FAILED)
                .anyMatch(node -> Optional.ofNullable(known.get(node.id()))
                        .filter(knows -> knows.incarnation().equals(node.incarnation()))
                        .filter(knows -> knows.revision() < revision)
                        .isPresent());
    }
}
