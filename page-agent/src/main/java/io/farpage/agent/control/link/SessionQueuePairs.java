package io.farpage.agent.control.link;

import io.farpage.agent.control.device.OpenDevice;
import io.farpage.agent.data.shard.PeerGrants;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.ShardCommand;
import io.farpage.coordinator.model.TransportKind;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;

/**
 * The two sets of queue pairs of a session: those of the link, and those of a trial or those that a trial has replaced.
 * Used by the links' thread, except for {@link #links}, {@link #ofLink} and {@link #grant}.
 */
final class SessionQueuePairs {
    private final LinkContext context;
    private final List<PeerLink> links;
    private final List<PeerLink> trialLinks;
    private final RailFailures failures;
    private volatile LinkQueuePairs ofLink;
    private LinkQueuePairs ofTrial;
    private PeerGrants grants = PeerGrants.NOTHING;

    SessionQueuePairs(String peer, LinkContext context) {
        this.context = context;
        this.links = context.shards().stream().map(_ -> new PeerLink(peer)).toList();
        this.trialLinks =
                context.shards().stream().map(_ -> PeerLink.ofTrial(peer)).toList();
        this.failures = new RailFailures(context.options().longestRdmaPause());
        this.ofLink = new LinkQueuePairs(peer, context, failures);
        this.ofTrial = new LinkQueuePairs(peer, context, failures);
    }

    /** The shards' sides of the link, by the number of the shard. Any thread. */
    List<PeerLink> links() {
        return links;
    }

    /** The queue pairs of the link. Any thread. */
    LinkQueuePairs ofLink() {
        return ofLink;
    }

    /** The queue pairs of the trial, or those that it has replaced. */
    LinkQueuePairs ofTrial() {
        return ofTrial;
    }

    /** Whether there are none. */
    boolean isEmpty() {
        return ofLink.isNothing() && ofTrial.isNothing();
    }

    /** Whether one is on {@code device}. */
    boolean uses(OpenDevice device) {
        return ofLink.uses(device) || ofTrial.uses(device);
    }

    /** Hands the connected queue pairs of the link to the shards. */
    synchronized void installLink(PeerView view) {
        ofLink.install(view, grants, links);
    }

    /** Hands the connected queue pairs of the trial to the shards, beside the link's. */
    synchronized void installTrial(PeerView view) {
        ofTrial.install(view, grants, trialLinks);
    }

    /**
     * The peer has granted other ranges than before: for queue pairs that the shards have, and for all later ones. Any
     * thread; the lock keeps a queue pair that is being installed from ending up with the earlier grants.
     */
    synchronized void grant(PeerGrants now) {
        grants = now;
        for (int shard = 0; shard < links.size(); shard++) {
            submit(shard, new ShardCommand.Grant(links.get(shard), now));
            submit(shard, new ShardCommand.Grant(trialLinks.get(shard), now));
        }
    }

    /** Why a link does not use an RDMA device of the peer; empty if it may. See {@link PeerView#lacksKeys}. */
    synchronized Optional<String> lacksKeys(PeerView view, int peerRail) {
        return context.transports().hasFallback()
                ? view.lacksKeys(TransportKind.RDMA, peerRail, grants)
                : Optional.empty();
    }

    /** The devices that a link may use, RDMA only if the peer has granted keys for a device of its. */
    synchronized LinkDevices devices(Optional<PeerView> view, Predicate<OpenDevice> allowed) {
        Map<Integer, String> layers = view.map(PeerView::linkLayers).orElse(Map.of());
        Set<Integer> withoutKeys = view.filter(_ -> context.transports().hasFallback())
                .map(known -> known.railsWithoutKeys(grants))
                .orElse(Set.of());
        boolean mayUseRdma = layers.isEmpty() || !withoutKeys.containsAll(layers.keySet());
        return new LinkDevices(
                context.usableDevices().stream()
                        .filter(device -> device.transport() == TransportKind.TCP || mayUseRdma)
                        .filter(allowed)
                        .toList(),
                layers,
                withoutKeys);
    }

    /** All pairs of devices may be tried again: the devices or the peer are others than before. */
    void forgetFailures() {
        failures.forget();
    }

    /** Makes every shard use the trial's queue pairs for the link and keep the others as the trial's. */
    void switchShards() {
        for (int shard = 0; shard < links.size(); shard++) {
            submit(shard, new ShardCommand.Switch(links.get(shard), trialLinks.get(shard)));
        }
    }

    /** All shards have switched: the sets change places. */
    void swap() {
        LinkQueuePairs replaced = ofLink;
        ofLink = ofTrial;
        ofTrial = replaced;
    }

    /** Removes a set. A shard may have its queue pairs on either side, since shards switch one after the other. */
    void remove(LinkQueuePairs set, String reason) {
        set.removeAll(reason, List.of(links, trialLinks));
    }

    private void submit(int shard, ShardCommand command) {
        context.shards().get(shard).loop().submit(command);
    }

    /** Destroys queue pairs that no shard has, at the end. */
    void close() {
        ofLink.close();
        ofTrial.close();
    }
}
