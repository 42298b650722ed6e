package io.farpage.agent.doctor;

import static io.farpage.agent.doctor.FakeHost.line;
import static io.farpage.agent.doctor.FakeHost.lines;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.farpage.verbs.Availability;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Recorded machines: InfiniBand, RoCE, SoftRoCE and none. */
final class RdmaChecksTest {
    private static final Map<String, String> DEFAULTS = Map.of();

    @TempDir
    private Path directory = Path.of("");

    @Test
    void shouldDescribeAnInfinibandDeviceAndItsPort() {
        Report report = new FakeHost(directory).infiniband().examine(DEFAULTS);

        assertEquals(
                "driver mlx5_core, type CA, firmware 20.31.1014, board MT_0000000222, NUMA node 1",
                line(report, "rdma.device").detail());
        Line port = line(report, "rdma.port");
        assertEquals(Level.OK, port.level());
        assertEquals("port mlx5_0/1", port.subject());
        assertEquals("ACTIVE, LinkUp, InfiniBand, 100 Gb/sec (4X EDR), MTU not known", port.detail());
        assertEquals(
                "auto takes 0 of 0 fe80:0:0:0:b859:9f03:d4:1a2e IB",
                line(report, "rdma.gid").detail());
        assertEquals("0 of 8 virtual functions made", line(report, "rdma.sriov").detail());
    }

    @Test
    void shouldWarnOfAPoolThatIsFarFromItsDevice() {
        FakeHost host = new FakeHost(directory).infiniband();

        Line far = line(host.examine(DEFAULTS), "rdma.numa");
        host.hugepages("/sys/devices/system/node/node1/hugepages/hugepages-2048kB", 512, 512, 0);

        assertEquals(Level.WARN, far.level());
        assertEquals("export FARPAGE_POOL_NUMA_NODE=1", far.fix());
        assertEquals(List.of(), lines(host.examine(Map.of("pool.numa_node", "1")), "rdma.numa"));
    }

    @Test
    void shouldAskForASubnetManagerWhenAnInfinibandPortIsNotActive() {
        FakeHost host = new FakeHost(directory).infiniband();
        host.port("mlx5_0", "InfiniBand", "2: INIT", "5: LinkUp", "100 Gb/sec (4X EDR)");

        Line port = line(host.examine(DEFAULTS), "rdma.port");

        assertEquals(Level.WARN, port.level());
        assertTrue(port.fix().contains("opensm"), port.fix());
    }

    @Test
    void shouldNameTheInterfaceToBringUpWhenARocePortIsDown() {
        FakeHost host = new FakeHost(directory).roce(9000);
        host.port("mlx5_0", "Ethernet", "1: DOWN", "3: Disabled", "40 Gb/sec (4X QDR)");

        Line port = line(host.examine(DEFAULTS), "rdma.port");

        assertEquals(Level.WARN, port.level());
        assertEquals("ip link set dev ens1f0 up", port.fix());
    }

    @Test
    void shouldPreferRoceV2WithAnIpv4MappedGid() {
        Line gid = line(new FakeHost(directory).roce(9000).examine(DEFAULTS), "rdma.gid");

        assertEquals(Level.OK, gid.level());
        assertTrue(gid.detail().startsWith("auto takes 3 of 0 fe80"), gid.detail());
        assertTrue(gid.detail().contains("3 ::ffff:10.0.0.2 RoCE v2"), gid.detail());
    }

    @Test
    void shouldWarnWhenTheOnlyAddressIsLinkLocal() {
        FakeHost host = new FakeHost(directory).roce(9000);
        host.delete("/sys/class/infiniband/mlx5_0/ports/1/gids/2")
                .delete("/sys/class/infiniband/mlx5_0/ports/1/gids/3");

        Line gid = line(host.examine(DEFAULTS), "rdma.gid");

        assertEquals(Level.WARN, gid.level());
        assertTrue(gid.detail().startsWith("auto takes 1 of"), gid.detail());
        assertTrue(gid.fix().startsWith("ip address add") && gid.fix().contains("dev ens1f0"), gid.fix());
    }

    @Test
    void shouldRefuseAConfiguredGidIndexThatIsNotInUse() {
        Line gid = line(new FakeHost(directory).roce(9000).examine(Map.of("rdma.gid_index", "7")), "rdma.gid");

        assertEquals(Level.WARN, gid.level());
        assertTrue(gid.detail().startsWith("rdma.gid_index is 7, which is not in use"), gid.detail());
    }

    @Test
    void shouldStopReadingAtARunOfEmptyGids() {
        Line gid = line(new FakeHost(directory).rxe().examine(DEFAULTS), "rdma.gid");

        assertTrue(gid.detail().startsWith("auto takes 1 of 0 fe80"), gid.detail());
        assertFalse(gid.detail().contains("10.0.2.6"), gid.detail());
    }

    @Test
    void shouldDescribeSoftRoceWithoutBusDevice() {
        Report report = new FakeHost(directory).rxe().examine(DEFAULTS);

        assertEquals(
                "driver rdma_rxe, type CA, no firmware, no NUMA node",
                line(report, "rdma.device").detail());
        assertEquals(List.of(), lines(report, "rdma.sriov"));
        assertEquals(List.of(), lines(report, "roce.pfc"), "SoftRoCE has no flow control of its own");
    }

    @Test
    void shouldAskForLargeFramesOnlyWhereTheMtuLeavesNoRoom() {
        Line small = line(new FakeHost(directory).roce(1500).examine(DEFAULTS), "roce.mtu");

        assertEquals(Level.WARN, small.level());
        assertEquals("ip link set dev ens1f0 mtu 9000", small.fix());
        assertTrue(small.detail().contains("RDMA MTU of 1024"), small.detail());
        assertEquals(4096, roceMtu(4192));
        assertEquals(2048, roceMtu(4191));
        assertEquals(4096, roceMtu(65536));
    }

    private int roceMtu(int netdevMtu) {
        FakeHost host = new FakeHost(directory).write("/sys/class/net/ens1f0/mtu", "" + netdevMtu);
        return new RdmaDevice(host.tree(), "mlx5_0")
                .ports()
                .getFirst()
                .roceMtu()
                .orElseThrow();
    }

    @Test
    void shouldReadFlowControlFromDcb() {
        FakeHost host = new FakeHost(directory).roce(9000);
        LongSupplier opened = () -> -1L;
        String off = "pfc-cap 8 macsec-bypass on delay 0\nprio-pfc 0:off 1:off 2:off 3:off 4:off 5:off 6:off 7:off";
        String on = "pfc-cap 8 macsec-bypass on delay 0\nprio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off";

        Line without = line(host.examine(DEFAULTS, opened, Optional.of(off)), "roce.pfc");
        Line with = line(host.examine(DEFAULTS, opened, Optional.of(on)), "roce.pfc");

        assertEquals(Level.WARN, without.level());
        assertEquals("dcb pfc set dev ens1f0 prio-pfc all:off 3:on", without.fix());
        assertEquals(Level.OK, with.level());
        assertEquals("PFC on priority 3", with.detail());
    }

    @Test
    void shouldAskForATrafficClassThatTakesPartInEcn() {
        FakeHost host = new FakeHost(directory).roce(9000);

        Line without = line(host.examine(DEFAULTS), "roce.ecn");
        Line with = line(host.examine(Map.of("rdma.traffic_class", "106")), "roce.ecn");

        assertEquals("export FARPAGE_RDMA_TRAFFIC_CLASS=106", without.fix());
        assertEquals(Level.OK, with.level());
    }

    @Test
    void shouldNameTheModuleOfACardThatIsNoRdmaDeviceYet() {
        FakeHost host = new FakeHost(directory);
        host.link("/sys/bus/pci/devices/0000:3b:00.0/driver", "/sys/bus/pci/drivers/mlx5_core");

        Report report = host.examine(DEFAULTS);

        assertEquals(
                "modprobe mlx5_ib",
                line(report, "rdma.module", "module mlx5_ib").fix());
        assertEquals("modprobe mlx5_ib", line(report, "rdma.verbs").fix());
    }

    @Test
    void shouldOfferSoftRoceWhereThereIsNoCard() {
        FakeHost host = new FakeHost(directory).write("/sys/class/net/ens3/operstate", "up");

        Line verbs = line(host.examine(DEFAULTS), "rdma.verbs");

        assertEquals(Level.WARN, verbs.level());
        assertEquals("modprobe rdma_rxe && rdma link add rxe0 type rxe netdev ens3", verbs.fix());
    }

    @Test
    void shouldMendThePortOfTheConfiguredDeviceAndNotAnother() {
        FakeHost host = new FakeHost(directory);
        downDevice(host, "rxe1", "cable1");
        downDevice(host, "rxe2", "cable2");
        Availability down = new Availability.Unavailable(Availability.Reason.PORT_NOT_ACTIVE, "rxe2/1 is DOWN", "");

        Line verbs = line(host.examine(Map.of("rdma.device", "rxe2"), down), "rdma.verbs");

        assertEquals("ip link set dev cable2 up", verbs.fix());
    }

    private static void downDevice(FakeHost host, String name, String netdev) {
        host.write("/sys/class/infiniband/" + name + "/parent", netdev)
                .port(name, "Ethernet", "1: DOWN", "3: Disabled", "2.5 Gb/sec (1X SDR)");
    }

    @Test
    void shouldNotOfferModulesToAKernelThatLoadsNone() {
        Line verbs = line(new FakeHost(directory).delete("/proc/modules").examine(DEFAULTS), "rdma.verbs");

        assertTrue(verbs.fix().startsWith("page-agent run --set transport.mode=tcp"), verbs.fix());
    }

    @Test
    void shouldFailWhenRdmaIsRequiredAndThereIsNone() {
        Report report = new FakeHost(directory).examine(Map.of("transport.mode", "rdma", "pool.lock", "prefer"));

        assertEquals(Level.FAIL, line(report, "rdma.verbs").level());
        assertEquals(Level.FAIL, report.result());
    }

    @Test
    void shouldNotLookAtDevicesWhenTheTransportIsTcp() {
        Report report = new FakeHost(directory).roce(1500).examine(Map.of("transport.mode", "tcp"));

        assertEquals(Level.OK, line(report, "rdma.verbs").level());
        assertEquals(List.of(), lines(report, "rdma.port"));
    }

    @Test
    void shouldLeaveOutDevicesThatTheConfigurationDoesNotName() {
        Report report = new FakeHost(directory).roce(9000).examine(Map.of("rdma.device", "mlx5_7"));

        assertEquals(
                "not used: rdma.device names mlx5_7",
                line(report, "rdma.device").detail());
        assertEquals(List.of(), lines(report, "rdma.port"));
    }

    @Test
    void shouldSayThatAContainerLacksTheDeviceNode() {
        FakeHost host = new FakeHost(directory).roce(9000).delete("/dev/infiniband/uverbs0");

        Line access = line(host.examine(DEFAULTS), "rdma.permission");

        assertEquals(Level.WARN, access.level());
        assertTrue(access.detail().contains("/dev/infiniband/uverbs0 does not exist"), access.detail());
    }

    @Test
    void shouldSayThatTheUserMayNotOpenTheDeviceNode() throws Exception {
        FakeHost host = new FakeHost(directory).roce(9000);
        Path node = directory.resolve("dev/infiniband/uverbs0");
        Files.setPosixFilePermissions(node, java.util.Set.of());
        assumeFalse(Files.isReadable(node), "root may open everything");

        Line access = line(host.examine(DEFAULTS), "rdma.permission");

        assertTrue(access.fix().contains("udevadm"), access.fix());
    }

    @Test
    void shouldWarnOfVirtualFunctionsThatNoGuestCanHave() {
        FakeHost host = new FakeHost(directory).roce(9000);
        host.write("/sys/bus/pci/devices/0000:3b:00.0/sriov_numvfs", "4");

        Line without = line(host.examine(DEFAULTS), "rdma.sriov");
        host.write("/sys/kernel/iommu_groups/0/type", "DMA-FQ");
        Line with = line(host.examine(DEFAULTS), "rdma.sriov");

        assertEquals(Level.WARN, without.level());
        assertEquals(Level.OK, with.level());
        assertEquals("4 of 8 virtual functions made", with.detail());
    }

    @Test
    void shouldWarnWhereTheIommuTranslatesForTheDevice() {
        FakeHost host = new FakeHost(directory).roce(9000);
        host.write("/sys/bus/pci/devices/0000:3b:00.0/iommu_group/type", "DMA-FQ");

        Line translated = line(host.examine(DEFAULTS), "host.iommu", "iommu mlx5_0");
        host.write("/sys/bus/pci/devices/0000:3b:00.0/iommu_group/type", "identity");
        Line passed = line(host.examine(DEFAULTS), "host.iommu", "iommu mlx5_0");

        assertEquals(Level.WARN, translated.level());
        assertTrue(translated.fix().contains("iommu=pt"), translated.fix());
        assertEquals(Level.OK, passed.level());
    }

    @Test
    void shouldAskForPeermemOnlyWithAnNvidiaGpu() {
        FakeHost host = new FakeHost(directory);
        Line none = line(host.examine(DEFAULTS), "gpu.direct");
        host.write("/sys/bus/pci/devices/0000:17:00.0/vendor", "0x10de")
                .write("/sys/bus/pci/devices/0000:17:00.0/class", "0x030200");
        Line closed = line(host.examine(DEFAULTS), "gpu.direct");
        host.write("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54");
        Line open = line(host.examine(DEFAULTS), "gpu.direct");
        host.write("/proc/sys/kernel/osrelease", "5.4.0-generic");
        Line old = line(host.examine(DEFAULTS), "gpu.direct");
        host.write("/sys/module/nvidia_peermem/refcnt", "0");
        Line peermem = line(host.examine(DEFAULTS), "gpu.direct");

        assertEquals("not needed: no NVIDIA GPU", none.detail());
        assertEquals("modprobe nvidia-peermem", closed.fix());
        assertEquals(Level.OK, open.level());
        assertEquals(Level.WARN, old.level());
        assertEquals(Level.OK, peermem.level());
    }
}
