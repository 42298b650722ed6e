package io.farpage.agent.data.coherence;

import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.shard.MessageChannel;
import java.util.ArrayList;
import java.util.List;
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
        extents = List.copyOf(list);
        homes = extents.stream().map(extent -> port(extent.home())).toArray(Port[]::new);
        node.channels().forEach(this::onOpened);
        return true;
    }

    private Port port(String home) {
        for (Port port : ports) {
            if (port.home().equals(home)) {
                return port;
            }
        }
        Port added =
                new Port(home, (to, kind, flags, page) -> writer.write(to, kind, flags, page, pagesOfSync(kind, page)));
        ports.add(added);
        return added;
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
}
