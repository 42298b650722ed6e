package io.farpage.agent.doctor;

import io.farpage.agent.control.device.TransportMode;
import io.farpage.verbs.Availability;
import io.farpage.verbs.Availability.Available;
import io.farpage.verbs.Availability.Unavailable;
import java.util.List;

/** Whether the agent would get an RDMA device: the outcome of the very probe that it does itself. */
final class VerbsCheck implements Check {
    private static final String ID = "rdma.verbs";
    private static final String SUBJECT = "libibverbs";

    private final Tree tree;
    private final TransportMode mode;
    private final Availability availability;
    private final List<RdmaDevice> devices;
    private final List<RdmaDevice> used;
    private final PoolNeed pool;

    /**
     * Makes it.
     *
     * @param devices all that there are
     * @param used those of them that the configuration allows
     */
    VerbsCheck(
            Tree tree,
            TransportMode mode,
            Availability availability,
            List<RdmaDevice> devices,
            List<RdmaDevice> used,
            PoolNeed pool) {
        this.tree = tree;
        this.mode = mode;
        this.availability = availability;
        this.devices = devices;
        this.used = used;
        this.pool = pool;
    }

    @Override
    public List<Line> run() {
        return switch (availability) {
            case Available(List<String> names) ->
                List.of(Line.ok(ID, SUBJECT, "usable: " + String.join(", ", names) + ", best first"));
            case Unavailable why ->
                List.of(new Line(
                        ID,
                        SUBJECT,
                        mode == TransportMode.RDMA ? Level.FAIL : Level.WARN,
                        why.reason() + ": " + why.detail()
                                + (mode == TransportMode.RDMA
                                        ? "; transport.mode is rdma, so the agent will not start"
                                        : "; pages travel over TCP"),
                        fix(why)));
        };
    }

    /** The provider's own advice is for people who read; this is its command. */
    private String fix(Unavailable why) {
        return switch (why.reason()) {
            case NO_LIBRARY -> "apt-get install -y libibverbs1 ibverbs-providers rdma-core";
            case MISSING_SYMBOL -> "apt-get install -y --only-upgrade libibverbs1 ibverbs-providers";
            case NATIVE_ACCESS_DENIED -> "export FARPAGE_JAVA_OPTS=--enable-native-access=ALL-UNNAMED";
            case NO_DEVICE -> noDevice();
            case PORT_NOT_ACTIVE ->
                used.stream()
                        .flatMap(device -> device.ports().stream())
                        .filter(port -> !port.isActive())
                        .findFirst()
                        .map(PortCheck::bringUp)
                        .orElse("rdma link show");
            case NO_USABLE_GID ->
                used.stream()
                        .flatMap(device -> device.ports().stream())
                        .filter(RdmaPort::isActive)
                        .findFirst()
                        .map(GidCheck::addAddress)
                        .orElse("rdma link show");
            case MEMLOCK_TOO_SMALL -> MemlockCheck.fix(pool.bytes());
            case PERMISSION_DENIED -> "modprobe ib_uverbs; chmod 0666 /dev/infiniband/uverbs*";
            case DEVICE_FAILED -> "dmesg | grep -i -e infiniband -e rdma -e mlx | tail -50";
        };
    }

    private String noDevice() {
        if (!devices.isEmpty()) {
            return "apt-get install -y ibverbs-providers && modprobe ib_uverbs"
                    + " && page-agent doctor --set rdma.device="
                    + devices.getFirst().name();
        }
        if (!tree.exists("/proc/modules")) {
            return "page-agent run --set transport.mode=tcp  # this kernel loads no modules: RDMA needs another one";
        }
        return ModulesCheck.missingRdmaDriver(tree)
                .map(module -> "modprobe " + module)
                .orElseGet(() -> "modprobe rdma_rxe && rdma link add rxe0 type rxe netdev " + netdev());
    }

    /** The first network interface that leads out of this machine. */
    private String netdev() {
        return tree.names("/sys/class/net").stream()
                .filter(name -> !name.equals("lo")
                        && tree.text("/sys/class/net/" + name + "/operstate")
                                .filter("up"::equals)
                                .isPresent())
                .findFirst()
                .orElse("lo");
    }
}
