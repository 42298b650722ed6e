package io.farpage.agent.doctor;

import io.farpage.agent.config.AgentKeys;
import io.farpage.config.Config;
import io.farpage.verbs.Availability;
import io.farpage.verbs.Device;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.VerbsProvider;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;

/** A folder with the files that a machine would have, as sysfs and procfs print them. */
final class FakeHost {
    static final Availability NO_DEVICE = new Availability.Unavailable(
            Availability.Reason.NO_DEVICE, "this host has no RDMA device", "load the driver of its NIC");

    private static final String ZERO = "0000:0000:0000:0000:0000:0000:0000:0000";

    private final Path root;

    /**
     * An otherwise healthy machine without RDMA: one NUMA node, 512 free hugepages of 2 MiB, an ordinary user's limits.
     */
    FakeHost(Path root) {
        this.root = root;
        write("/proc/self/limits", "Max locked memory         8388608              8388608              bytes");
        write("/proc/self/status", "Name:\tjava\nCapEff:\t0000000000000000");
        write("/proc/self/cgroup", "0::/system.slice/page-agent.service");
        write("/proc/sys/vm/unprivileged_userfaultfd", "0");
        write("/proc/sys/kernel/osrelease", "6.1.0-18-amd64");
        write("/proc/modules", "");
        write("/proc/swaps", "Filename\tType\tSize\tUsed\tPriority");
        write("/sys/devices/system/node/node0/meminfo", "");
        write("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc");
        write("/sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm");
        write("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
        hugepages("/sys/kernel/mm/hugepages/hugepages-2048kB", 512, 512, 0);
        write("/dev/kvm", "");
    }

    Tree tree() {
        return new Tree(root);
    }

    FakeHost write(String file, String text) {
        try {
            Path path = root.resolve(file.substring(1));
            Files.createDirectories(path.getParent());
            Files.writeString(path, text + "\n");
            return this;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    FakeHost delete(String file) {
        try {
            Files.delete(root.resolve(file.substring(1)));
            return this;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    FakeHost link(String file, String target) {
        try {
            Path path = root.resolve(file.substring(1));
            Files.createDirectories(path.getParent());
            Files.createDirectories(root.resolve(target.substring(1)));
            Files.createSymbolicLink(path, root.resolve(target.substring(1)));
            return this;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    FakeHost hugepages(String folder, long total, long free, long reserved) {
        return write(folder + "/nr_hugepages", "" + total)
                .write(folder + "/free_hugepages", "" + free)
                .write(folder + "/resv_hugepages", "" + reserved);
    }

    /** A ConnectX on InfiniBand, at NUMA node 1 of two. */
    FakeHost infiniband() {
        pciDevice("mlx5_0", "0000:3b:00.0", "mlx5_core", "20.31.1014");
        write("/sys/devices/system/node/node1/meminfo", "");
        write("/sys/bus/pci/devices/0000:3b:00.0/numa_node", "1");
        write("/sys/class/infiniband/mlx5_0/board_id", "MT_0000000222");
        port("mlx5_0", "InfiniBand", "4: ACTIVE", "5: LinkUp", "100 Gb/sec (4X EDR)");
        gid("mlx5_0", 0, "fe80:0000:0000:0000:b859:9f03:00d4:1a2e", "IB/RoCE v1", "");
        return this;
    }

    /** The same card on Ethernet, whose interface has the given MTU. */
    FakeHost roce(int mtu) {
        pciDevice("mlx5_0", "0000:3b:00.0", "mlx5_core", "16.35.2000");
        write("/sys/class/net/ens1f0/mtu", "" + mtu);
        port("mlx5_0", "Ethernet", "4: ACTIVE", "5: LinkUp", "100 Gb/sec (2X HDR)");
        gid("mlx5_0", 0, "fe80:0000:0000:0000:ba59:9fff:fed4:1a2e", "IB/RoCE v1", "ens1f0");
        gid("mlx5_0", 1, "fe80:0000:0000:0000:ba59:9fff:fed4:1a2e", "RoCE v2", "ens1f0");
        gid("mlx5_0", 2, "0000:0000:0000:0000:0000:ffff:0a00:0002", "IB/RoCE v1", "ens1f0");
        gid("mlx5_0", 3, "0000:0000:0000:0000:0000:ffff:0a00:0002", "RoCE v2", "ens1f0");
        return this;
    }

    /** SoftRoCE on eth0: no bus device, no firmware, and a table that claims 1024 GIDs. */
    FakeHost rxe() {
        write("/sys/class/infiniband/rxe0/parent", "eth0");
        write("/sys/class/infiniband/rxe0/fw_ver", "");
        uverbs("rxe0");
        write("/sys/class/net/eth0/mtu", "1500");
        port("rxe0", "Ethernet", "4: ACTIVE", "5: LinkUp", "2.5 Gb/sec (1X SDR)");
        gid("rxe0", 0, "fe80:0000:0000:0000:5054:00ff:fe12:3456", "RoCE v2", "eth0");
        gid("rxe0", 1, "0000:0000:0000:0000:0000:ffff:0a00:0205", "RoCE v2", "eth0");
        for (int index = 2; index < 40; index++) {
            write("/sys/class/infiniband/rxe0/ports/1/gids/" + index, ZERO);
        }
        // The doctor does not look beyond a run of empty entries: with 1024 of them that is the point.
        gid("rxe0", 40, "0000:0000:0000:0000:0000:ffff:0a00:0206", "RoCE v2", "eth0");
        return this;
    }

    private void pciDevice(String name, String address, String driver, String firmware) {
        link("/sys/class/infiniband/" + name + "/device", "/sys/bus/pci/devices/" + address);
        link("/sys/bus/pci/devices/" + address + "/driver", "/sys/bus/pci/drivers/" + driver);
        write("/sys/bus/pci/devices/" + address + "/infiniband/" + name + "/dev", "");
        write("/sys/class/infiniband/" + name + "/fw_ver", firmware);
        write("/sys/bus/pci/devices/" + address + "/sriov_totalvfs", "8");
        write("/sys/bus/pci/devices/" + address + "/sriov_numvfs", "0");
        write("/sys/bus/pci/devices/" + address + "/numa_node", "-1");
        uverbs(name);
    }

    private void uverbs(String name) {
        write("/sys/class/infiniband/" + name + "/node_type", "1: CA");
        write("/sys/class/infiniband_verbs/abi_version", "6");
        write("/sys/class/infiniband_verbs/uverbs0/ibdev", name);
        write("/dev/infiniband/uverbs0", "");
    }

    FakeHost port(String device, String linkLayer, String state, String physicalState, String rate) {
        String folder = "/sys/class/infiniband/" + device + "/ports/1";
        return write(folder + "/link_layer", linkLayer)
                .write(folder + "/state", state)
                .write(folder + "/phys_state", physicalState)
                .write(folder + "/rate", rate);
    }

    FakeHost gid(String device, int index, String gid, String type, String netdev) {
        String folder = "/sys/class/infiniband/" + device + "/ports/1";
        return write(folder + "/gids/" + index, gid)
                .write(folder + "/gid_attrs/types/" + index, type)
                .write(folder + "/gid_attrs/ndevs/" + index, netdev);
    }

    /**
     * What the doctor finds with these settings over the defaults, with a provider that finds no device and a kernel
     * that has all.
     */
    Report examine(Map<String, String> settings) {
        return examine(settings, () -> -1L, Optional.empty());
    }

    Report examine(Map<String, String> settings, LongSupplier userfaultfd, Optional<String> dcb) {
        return examine(settings, userfaultfd, dcb, NO_DEVICE);
    }

    /** With a provider whose probe gives {@code found}. */
    Report examine(Map<String, String> settings, Availability found) {
        return examine(settings, () -> -1L, Optional.empty(), found);
    }

    private Report examine(
            Map<String, String> settings, LongSupplier userfaultfd, Optional<String> dcb, Availability found) {
        Map<String, String> all = new java.util.HashMap<>(Map.of("api.listen", "127.0.0.1:0"));
        all.putAll(settings);
        Config config = AgentKeys.SCHEMA.load(Optional.empty(), Map.of(), all);
        return new Doctor(config, tree(), new Provider(found), userfaultfd, command -> dcb).examine();
    }

    static List<Line> lines(Report report, String id) {
        return report.lines().stream().filter(line -> line.id().equals(id)).toList();
    }

    static Line line(Report report, String id) {
        List<Line> lines = lines(report, id);
        if (lines.size() != 1) {
            throw new AssertionError(lines.size() + " lines " + id + " in " + report.text(false));
        }
        return lines.getFirst();
    }

    static Line line(Report report, String id, String subject) {
        return lines(report, id).stream()
                .filter(line -> line.subject().equals(subject))
                .findFirst()
                .orElseThrow(
                        () -> new AssertionError("no line " + id + " of " + subject + " in " + report.text(false)));
    }

    /** A provider whose probe is given; the real one is asked in the tests against this machine. */
    private record Provider(Availability found) implements VerbsProvider {
        @Override
        public List<String> present() {
            return found instanceof Availability.Available(List<String> names) ? names : List.of();
        }

        @Override
        public Availability probe(Set<String> except) {
            return found;
        }

        @Override
        public String name() {
            return "ibverbs";
        }

        @Override
        public Device open(String device) {
            throw new VerbsException("open_device " + device + ": there is none");
        }
    }
}
