package io.farpage.verbs.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.farpage.verbs.Availability.Reason;
import io.farpage.verbs.Availability.Unavailable;
import io.farpage.verbs.Gid;
import io.farpage.verbs.LinkLayer;
import io.farpage.verbs.Mtu;
import io.farpage.verbs.PortState;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.ibverbs.Structs.DeviceAttr;
import io.farpage.verbs.ibverbs.Structs.PortAttr;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Finds the port and the GID to use of an open device. */
final class Ports {
    /** What the search found. */
    sealed interface Choice {
        record Usable(int port, SourceGid gid) implements Choice {}

        record Unusable(Unavailable why) implements Choice {}
    }

    /**
     * A port ({@code struct ibv_port_attr}).
     *
     * @param maxMessageSize bytes
     */
    record Port(
            int number,
            PortState state,
            Mtu activeMtu,
            int gidTableLength,
            int lid,
            LinkLayer linkLayer,
            boolean grhRequired,
            long maxMessageSize) {}

    private Ports() {}

    static Port query(DeviceContext device, int number) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attr = arena.allocate(PortAttr.ROOM, 8);
            Failure.check(
                    device.library().queryPort(device.pointer(), number, attr),
                    "query_port",
                    device.name() + "/" + number,
                    "the device has no such port");
            return new Port(
                    number,
                    PortState.ofCode(attr.get(JAVA_INT, PortAttr.STATE)),
                    mtu(attr.get(JAVA_INT, PortAttr.ACTIVE_MTU)),
                    attr.get(JAVA_INT, PortAttr.GID_TBL_LEN),
                    Short.toUnsignedInt(attr.get(JAVA_SHORT, PortAttr.LID)),
                    switch (attr.get(JAVA_BYTE, PortAttr.LINK_LAYER)) {
                        case 1 -> LinkLayer.INFINIBAND;
                        case 2 -> LinkLayer.ETHERNET;
                        default -> LinkLayer.UNSPECIFIED;
                    },
                    (attr.get(JAVA_BYTE, PortAttr.FLAGS) & PortAttr.GRH_REQUIRED) != 0,
                    Integer.toUnsignedLong(attr.get(JAVA_INT, PortAttr.MAX_MSG_SZ)));
        }
    }

    /** A port that is down may have none. */
    private static Mtu mtu(int code) {
        return code >= 1 && code <= 5 ? Mtu.ofCode(code) : Mtu.MTU_256;
    }

    static Gid queryGid(DeviceContext device, int port, int index) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment gid = arena.allocate(16, 8);
            Failure.check(
                    device.library().queryGid(device.pointer(), port, index, gid),
                    "query_gid(" + index + ")",
                    device.name() + "/" + port,
                    "the port has no such index; show_gids or rdma link show the device's");
            return Gid.of(gid.toArray(JAVA_BYTE));
        }
    }

    /**
     * The port and GID that {@code options} name, or the best ones.
     *
     * @throws VerbsException if the device does not answer
     */
    static Choice choose(DeviceContext device, IbvOptions options, int portCount) {
        List<Port> all = new ArrayList<>();
        int gids = 0;
        for (int number = 1; number <= portCount; number++) {
            Port port = query(device, number);
            gids += port.gidTableLength;
            all.add(port);
        }
        List<Port> wanted = all.stream()
                .filter(port -> options.port().isEmpty() || options.port().getAsInt() == port.number)
                .toList();
        Optional<Port> active =
                wanted.stream().filter(port -> port.state == PortState.ACTIVE).findFirst();
        if (active.isEmpty()) {
            return unusable(
                    Reason.PORT_NOT_ACTIVE, notActive(device.name(), wanted, options), bringUp(device.name(), wanted));
        }
        int number = active.get().number;
        if (options.gidIndex().isPresent()) {
            int index = options.gidIndex().getAsInt();
            if (index >= active.get().gidTableLength
                    || queryGid(device, number, index).isZero()) {
                return unusable(
                        Reason.NO_USABLE_GID,
                        device.name() + "/" + number + " has no GID at index " + index,
                        "set gid_index to auto, or to an index that ibv_devinfo -v lists");
            }
            return new Choice.Usable(
                    number, SourceGid.configured(number, index, () -> queryGid(device, number, index)));
        }
        int capacity = gids;
        return GidTable.best(GidTable.read(device, capacity), number)
                .<Choice>map(entry ->
                        new Choice.Usable(number, SourceGid.chosen(entry, () -> GidTable.read(device, capacity))))
                .orElseGet(() -> unusable(
                        Reason.NO_USABLE_GID,
                        device.name() + "/" + number + " has no GID",
                        "give its network interface an IP address: ip address add ADDRESS dev NAME"));
    }

    private static Choice unusable(Reason reason, String detail, String fix) {
        return new Choice.Unusable(new Unavailable(reason, detail, fix));
    }

    private static String notActive(String device, List<Port> ports, IbvOptions options) {
        if (ports.isEmpty()) {
            return options.port().isPresent()
                    ? device + " has no port " + options.port().getAsInt()
                    : device + " has no port";
        }
        List<String> states = new ArrayList<>();
        ports.forEach(port -> states.add(device + "/" + port.number + " is " + port.state));
        return String.join(", ", states);
    }

    private static String bringUp(String device, List<Port> ports) {
        return ports.stream().anyMatch(port -> port.linkLayer == LinkLayer.INFINIBAND)
                ? "check cable and subnet manager: ibstat " + device
                        + ", systemctl start opensm on one host of the fabric"
                : "bring its network interface up: rdma link show names it, then ip link set NAME up";
    }

    /** Ports that a device has, from its attributes. */
    static int count(MemorySegment deviceAttr) {
        return Byte.toUnsignedInt(deviceAttr.get(JAVA_BYTE, DeviceAttr.PHYS_PORT_CNT));
    }
}
