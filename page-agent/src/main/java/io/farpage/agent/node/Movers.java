package io.farpage.agent.node;

import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.config.AgentOptions;
import io.farpage.agent.control.CloseStack;
import io.farpage.agent.control.LocalNode;
import io.farpage.agent.control.grant.HomeGrants;
import io.farpage.agent.control.grant.ReceivedGrants;
import io.farpage.agent.control.guest.FigureReports;
import io.farpage.agent.control.guest.Guests;
import io.farpage.agent.control.link.LinkControl;
import io.farpage.agent.control.member.CopyReports;
import io.farpage.agent.control.member.EventWatch;
import io.farpage.agent.control.member.Hosting;
import io.farpage.agent.control.mount.MountShard;
import io.farpage.agent.control.mount.SnapshotMounts;
import io.farpage.agent.control.mount.SnapshotSpaces;
import io.farpage.agent.control.page.PageTool;
import io.farpage.agent.control.page.SpacePresence;
import io.farpage.agent.control.pull.Pulls;
import io.farpage.agent.control.seal.SealSweep;
import io.farpage.agent.control.space.Spaces;
import io.farpage.agent.data.coherence.CoherentSpaces;
import io.farpage.agent.data.shard.ShardLoop;
import io.farpage.config.Config;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;

/**
 * What moves pages, and what agrees with the coordinator and the peers about it: shards, links, guests, what this node
 * hosts, and pulls.
 */
final class Movers {
    private final Spaces spaces;
    private final Shards shards;
    private final CoherentSpaces coherent;
    private final LinkControl links;
    private final Pulls pulls;
    private final ReceivedGrants grants;
    private final PageTool pages;
    private final SpacePresence presence;
    private final MountShard mountShard;
    private final SnapshotMounts mounts;
    private final Guests guests;
    private final FigureReports figures;
    private final CopyReports copies;
    private final HomeGrants given;
    private final Hosting hosting;
    private final Optional<SealSweep> seals;
    private final EventWatch events;

    /** @param open gets what must be closed, also if this fails */
    Movers(CloseStack open, Foundation base) {
        Config config = base.config();
        LocalNode self = base.self();
        spaces = base.spaces();
        shards = base.mapped()
                .usedBy(open.add(new Shards(
                        config, AgentOptions.shardCpus(config), self.pool(), base.transports(), this::noticed)));
        links = open.add(new LinkControl(self, base.transports(), shards.all(), AgentOptions.links(config)));
        links.onChange(base.audit());
        ShardLoop first = shards.loops().getFirst();
        coherent = new CoherentSpaces(
                self.id(),
                self.incarnation().value(),
                self.pool().exported(),
                new CoherentShard(first, peer -> links.link(peer, 0)),
                System::nanoTime);
        first.shard().listen(coherent);
        pulls = open.add(new Pulls(self, first, peer -> links.link(peer, 0), spaces::use, AgentOptions.pulls(config)));
        // Closed after the guests, which may wait for a grant to write their last pages.
        grants = open.add(new ReceivedGrants(self, links));
        links.onGrantRefused(refused -> {
            grants.refused(refused.link().peer(), refused.incarnation(), refused.offset(), refused.rkey());
            spaces.refresh();
        });
        pages = new PageTool(
                self,
                first,
                peer -> links.link(peer, 0),
                config.get(AgentKeys.FETCH_DEPTH),
                config.get(AgentKeys.FETCH_DEADLINE));
        presence = new SpacePresence(pages);
        mountShard = new MountShard(
                self,
                first,
                peer -> links.link(peer, 0),
                config.get(AgentKeys.FETCH_DEPTH),
                config.get(AgentKeys.FETCH_DEADLINE));
        mounts = open.add(new SnapshotMounts(
                Doors.mountSocket(config, self.id()),
                new SnapshotSpaces(self.id(), spaces, presence, pages),
                mountShard,
                System::nanoTime));
        guests = open.add(new Guests(
                self,
                spaces,
                presence,
                shards.loops(),
                links::link,
                Optional.of(coherent),
                AgentOptions.guests(config, base.keeping().guests(self.id(), self.incarnation()))));
        guests.onChange(base.audit());
        figures = open.add(new FigureReports(self, guests, coherent::status));
        copies = open.add(new CopyReports(
                self,
                () -> Stream.concat(guests.copies().stream(), pulls.copies().stream())
                        .toList()));
        given = open.add(new HomeGrants(self, base.transports()));
        hosting = open.add(new Hosting(self, links, given, pulls, coherent));
        hosting.succeed(base.keeping().hosted(), base.keeping()::hosts);
        seals = AgentOptions.sealDirectory(config)
                .map(directory -> open.add(new SealSweep(directory, self.coordinator())));
        events = open.add(new EventWatch(
                self.coordinator(),
                self.id(),
                links::watched,
                new NodeEvents(self.id(), links, hosting, spaces, seals)));
    }

    /** A shard has a notice for the links. Their threads start after all of this is made. */
    private void noticed() {
        links.noticed();
    }

    /** Starts what serves other nodes. */
    void start() {
        shards.start();
        pulls.start();
        given.start();
        hosting.start();
        spaces.start(grants);
        seals.ifPresent(SealSweep::start);
    }

    /**
     * Starts what serves guests, and the links, once the node begins to register.
     *
     * @param isRegistered whether the coordinator knows this node
     */
    void startGuests(BooleanSupplier isRegistered) {
        guests.adopt(isRegistered);
        mounts.start(isRegistered);
        figures.start();
        copies.start();
        links.start();
        events.start();
    }

    Shards shards() {
        return shards;
    }

    LinkControl links() {
        return links;
    }

    Pulls pulls() {
        return pulls;
    }

    SpacePresence presence() {
        return presence;
    }

    PageTool pages() {
        return pages;
    }

    MountShard mountShard() {
        return mountShard;
    }

    SnapshotMounts mounts() {
        return mounts;
    }

    Guests guests() {
        return guests;
    }

    CoherentSpaces coherent() {
        return coherent;
    }

    Hosting hosting() {
        return hosting;
    }

    /** The coordinator's events that concern this node. */
    EventWatch events() {
        return events;
    }
}
