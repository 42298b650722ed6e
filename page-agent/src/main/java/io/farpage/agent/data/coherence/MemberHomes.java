package io.farpage.agent.data.coherence;

import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.shard.MessageChannel;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Where a member finds the directories of its pages, and the channels to them. The shard's thread only. */
final class MemberHomes {
    private final MemberGuest guest;
    private final Supplier<SpaceMap> maps;
    private final Member.Node node;
    private final MemberWriter writer;
    private final List<Port> ports = new ArrayList<>();
    private @Nullable SpaceMap map;
    private List<CoherentExtent> extents = List.of();
    /** The home of each extent. */
    private Port[] homes = {};

    /** @param writer writes the messages to all of them */
    MemberHomes(MemberGuest guest, Supplier<SpaceMap> maps, Member.Node node, MemberWriter writer) {
        this.guest = guest;
        this.maps = maps;
        this.node = node;
        this.writer = writer;
    }

    /** Reads the latest map. Returns whether it is another one. */
    boolean follow() {
        SpaceMap now = maps.get();
        if (now == map) {
            return false;
        }
        map = now;
        List<CoherentExtent> list = new ArrayList<>();
        for (int i = 0; i < now.extents(); i++) {
            int count = (int) (now.endPage(i) - now.firstPage(i));
            list.add(new CoherentExtent(now.firstPage(i), count, now.node(i), now.isLost(i)));
        }
        List<Port> moved = ports.stream()
                .filter(port -> layout(port, extents) != layout(port, list))
                .toList();
        extents = List.copyOf(list);
        homes = extents.stream().map(extent -> port(extent.home())).toArray(Port[]::new);
        node.channels().forEach(this::onOpened);
        moved.forEach(Port::rejoin);
        return true;
    }

    private static long layout(Port port, List<CoherentExtent> extents) {
        long sum = 0;
        for (CoherentExtent extent : extents) {
            sum = extent.home().equals(port.home())
                    ? CoherentMessage.layout(sum, extent.firstPage(), extent.pages())
                    : sum;
        }
        return sum;
    }

    private Port port(String home) {
        for (Port port : ports) {
            if (port.home().equals(home)) {
                return port;
            }
        }
        Sender sender = new Sender();
        Port added = new Port(home, sender);
        sender.port = added;
        ports.add(added);
        return added;
    }

    /** Writes the messages to a home. */
    private final class Sender implements Outbox.Writer {
        private @Nullable Port port;

        @Override
        public int write(MemorySegment to, MessageKind kind, int flags, long page) {
            Port home = Objects.requireNonNull(port);
            if (kind == MessageKind.SYNC_END) {
                CoherentMessage.setLayout(to, layout(home, extents));
            }
            return writer.write(to, kind, flags, home.session(), page, pagesOfSync(kind, page));
        }
    }

    /** How many pages a SYNC describes that begins with a page. */
    private int pagesOfSync(MessageKind kind, long first) {
        if (kind != MessageKind.SYNC) {
            return 0;
        }
        CoherentExtent extent = extents.get(indexOf(first));
        return (int) Math.min(CoherentMessage.SYNC_PAGES, extent.firstPage() + extent.pages() - first);
    }

    List<CoherentExtent> extents() {
        return extents;
    }

    List<CoherentExtent> extentsOf(Port port) {
        return extents.stream()
                .filter(extent -> extent.home().equals(port.home()))
                .toList();
    }

    private int indexOf(long page) {
        for (int i = 0; i < extents.size(); i++) {
            CoherentExtent extent = extents.get(i);
            if (page >= extent.firstPage() && page - extent.firstPage() < extent.pages()) {
                return i;
            }
        }
        throw new IllegalStateException("space %s: no extent has page %d".formatted(guest.name(), page));
    }

    /** The home of a page. */
    Port of(int page) {
        return homes[indexOf(page)];
    }

    /** Whether the home of a page is lost. */
    boolean isLost(int page) {
        return extents.get(indexOf(page)).lost();
    }

    /** Whether all homes are lost. */
    boolean areLost() {
        return extents.stream().allMatch(CoherentExtent::lost);
    }

    /** Whether some home is lost. */
    boolean isAnyLost() {
        return extents.stream().anyMatch(CoherentExtent::lost);
    }

    void onOpened(MessageChannel channel) {
        for (Port port : ports) {
            if (port.home().equals(channel.peer()) && !port.isOn(channel)) {
                port.open(channel);
            }
        }
    }

    void onClosed(MessageChannel channel) {
        for (Port port : ports) {
            if (port.isOn(channel)) {
                port.close();
            }
        }
    }

    /** The home at the other side of a channel; null if it is none. */
    @Nullable
    Port on(MessageChannel channel) {
        for (Port port : ports) {
            if (port.isOn(channel)) {
                return port;
            }
        }
        return null;
    }

    /** Sends what may be sent. Returns how many messages. */
    int send() {
        int sent = 0;
        for (Port port : ports) {
            sent += port.send();
        }
        return sent;
    }

    /** The member has no page from now on. */
    void leave() {
        ports.forEach(Port::leave);
    }

    void close() {
        ports.forEach(Port::close);
    }

    @Override
    public String toString() {
        return ports.toString();
    }
}
