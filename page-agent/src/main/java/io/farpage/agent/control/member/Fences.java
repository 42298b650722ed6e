package io.farpage.agent.control.member;

import io.farpage.agent.control.ControlThread;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Fence;
import io.farpage.coordinator.model.FenceAck;
import io.farpage.coordinator.model.Incarnation;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Cuts off incarnations of other nodes that may no longer write to this node's pool, and acknowledges that to the
 * coordinator. Only then may another node attach to their spaces.
 */
public final class Fences implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Fences.class);
    private static final Duration REFRESH = Duration.ofSeconds(5);
    private static final Duration RETRY = Duration.ofSeconds(1);
    private static final Duration TIMEOUT = Duration.ofSeconds(2);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

    private final CoordinatorClient coordinator;
    private final String node;
    private final Incarnation incarnation;
    private final Links links;
    private final PoolAccess access;
    private final Set<Peer> cutOff = new HashSet<>();
    private final Set<Peer> executed = ConcurrentHashMap.newKeySet();
    private final ControlThread thread;
    private volatile List<Fence> known = List.of();

    private record Peer(String node, Incarnation incarnation) {}

    /** The links to other nodes. */
    public interface Links {
        /** Cuts an incarnation of a peer off; completes when no WRITE of it can arrive any more. */
        CompletableFuture<Void> fence(String peer, Incarnation old);

        /** Allows links to an incarnation again. */
        void unfence(String peer, Incarnation old);
    }

    /** @param access revoked before an incarnation is said to be cut off */
    public Fences(CoordinatorClient coordinator, String node, Incarnation incarnation, Links links, PoolAccess access) {
        this.coordinator = coordinator;
        this.node = node;
        this.incarnation = incarnation;
        this.links = links;
        this.access = access;
        thread = new ControlThread(
                "fences",
                new ControlThread.Pauses(REFRESH, RETRY, CLOSE_TIMEOUT),
                () -> enforceAll() ? REFRESH : RETRY);
    }

    public void start() {
        thread.start();
    }

    /** There may be fences to carry out. Any thread. */
    public void refresh() {
        thread.wake();
    }

    /** The fences that the obeyed coordinator listed last, acknowledged where carried out. Any thread. */
    List<Fence> known() {
        return known.stream()
                .map(fence -> executed.contains(new Peer(fence.node(), fence.incarnation()))
                        ? fence.withAcknowledged()
                        : fence)
                .toList();
    }

    /** Returns whether all fences are carried out. */
    private boolean enforceAll() throws CoordinatorException, InterruptedException {
        Set<Peer> wanted = new HashSet<>();
        boolean all = true;
        List<Fence> asked = coordinator.fences(node);
        known = asked;
        for (Fence fence : asked) {
            // Transfers of this node to its own pool end when it detaches.
            if (fence.node().equals(node) || !fence.homeIncarnation().equals(incarnation)) {
                continue;
            }
            Peer peer = new Peer(fence.node(), fence.incarnation());
            if (wanted.add(peer) && cutOff.add(peer)) {
                log.info("cutting off incarnation {} of {}", peer.incarnation(), peer.node());
            }
            if (!fence.acknowledged()) {
                all &= enforce(peer);
            }
        }
        for (Peer peer : Set.copyOf(cutOff)) {
            if (!wanted.contains(peer)) {
                access.lift(peer.node(), peer.incarnation());
                links.unfence(peer.node(), peer.incarnation());
                cutOff.remove(peer);
                executed.remove(peer);
            }
        }
        return all;
    }

    private boolean enforce(Peer peer) throws CoordinatorException, InterruptedException {
        access.bar(peer.node(), peer.incarnation());
        try {
            links.fence(peer.node(), peer.incarnation()).get(TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            log.warn(
                    "incarnation {} of {} is not cut off after {}; its queue pairs are not destroyed yet",
                    peer.incarnation(),
                    peer.node(),
                    TIMEOUT);
            return false;
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause());
        }
        executed.add(peer);
        coordinator.acknowledgeFence(node, new FenceAck(incarnation, peer.node(), peer.incarnation()));
        return true;
    }

    @Override
    public void close() {
        thread.close();
    }
}
