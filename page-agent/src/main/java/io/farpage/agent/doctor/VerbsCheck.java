package io.farpage.agent.doctor;

import static io.farpage.agent.doctor.Line.check;

import io.farpage.agent.control.device.TransportMode;
import io.farpage.verbs.Availability.Available;
import io.farpage.verbs.Availability.Unavailable;
import java.util.List;

/** Whether the agent would get an RDMA device: the outcome of the very probe that it does itself. */
final class VerbsCheck {
    private VerbsCheck() {}

    static Line line(Host host) {
        Line.Check check = check("rdma.verbs", "libibverbs");
        return switch (host.availability()) {
            case Available(List<String> names) -> check.ok("usable: " + String.join(", ", names) + ", best first");
            case Unavailable why
            when host.mode() == TransportMode.RDMA ->
                check.fail(
                        why.reason() + ": " + why.detail() + "; transport.mode is rdma, so the agent will not start",
                        fix(host, why));
            case Unavailable why ->
                check.warn(why.reason() + ": " + why.detail() + "; pages travel over TCP", fix(host, why));
        };
    }

    /** The provider's own advice is for people who read; this is its command. */
    private static String fix(Host host, Unavailable why) {
        return switch (why.reason()) {
            case NO_LIBRARY -> "apt-get install -y libibverbs1 ibverbs-providers rdma-core";
            case MISSING_SYMBOL -> "apt-get install -y --only-upgrade libibverbs1 ibverbs-providers";
            case NATIVE_ACCESS_DENIED -> "export FARPAGE_JAVA_OPTS=--enable-native-access=ALL-UNNAMED";
            case NO_DEVICE -> noDevice(host);
            case NOT_RC ->
                "ibv_devinfo | grep -e hca_id -e transport:  # farpage uses transport InfiniBand, which RoCE has too";
            case PORT_NOT_ACTIVE ->
                host.used().stream()
                        .flatMap(device -> device.ports().stream())
                        .filter(port -> !port.isActive())
                        .findFirst()
                        .map(RdmaChecks::bringUp)
                        .orElse("rdma link show");
            case NO_USABLE_GID ->
                host.used().stream()
                        .flatMap(device -> device.ports().stream())
                        .filter(RdmaDevice.Port::isActive)
                        .findFirst()
                        .map(RdmaChecks::addAddress)
                        .orElse("rdma link show");
            case MEMLOCK_TOO_SMALL -> MemoryChecks.raiseMemlock(host.pool().bytes());
            case PERMISSION_DENIED -> "modprobe ib_uverbs; chmod 0666 /dev/infiniband/uverbs*";
            case DEVICE_FAILED -> "dmesg | grep -i -e infiniband -e rdma -e mlx | tail -50";
        };
    }

    private static String noDevice(Host host) {
        if (!host.devices().isEmpty()) {
            return "apt-get install -y ibverbs-providers && modprobe ib_uverbs"
                    + " && page-agent doctor --set rdma.device="
                    + host.devices().getFirst().name();
        }
        if (!host.tree().exists("/proc/modules")) {
            return "page-agent run --set transport.mode=tcp  # this kernel loads no modules: RDMA needs another one";
        }
        return RdmaChecks.missingModule(host.tree())
                .map(module -> "modprobe " + module)
                .orElseGet(() -> "modprobe rdma_rxe && rdma link add rxe0 type rxe netdev " + netdev(host.tree()));
    }

    /** The first network interface that leads out of this machine. */
    private static String netdev(Tree tree) {
        return tree.names("/sys/class/net").stream()
                .filter(name -> !name.equals("lo")
                        && tree.text("/sys/class/net/" + name + "/operstate")
                                .filter("up"::equals)
                                .isPresent())
                .findFirst()
                .orElse("lo");
    }
}
