package io.farpage.agent.doctor;

import static io.farpage.agent.doctor.FakeHost.line;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.config.QueuePairMemory;
import io.farpage.linux.Errno;
import io.farpage.linux.PosixException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Memory, limits and what the kernel does with them, on recorded machines. */
final class HostChecksTest {
    private static final Map<String, String> DEFAULTS = Map.of();

    /** Exported and staging part of the default configuration, and 2 MiB for the header. */
    private static final long POOL_BYTES = (256L + 32 + 2) << 20;

    @TempDir
    private Path directory = Path.of("");

    @Test
    void shouldFindNothingToMendOnAHealthyHost() {
        Report report = new FakeHost(directory)
                .write("/proc/self/status", "CapEff:\t000001ffffffffff")
                .examine(Map.of("transport.mode", "tcp"));

        assertEquals(0, report.count(Level.FAIL), () -> report.text(false));
        // A coordinator may or may not listen at the default URL of this host.
        assertTrue(
                report.lines().stream()
                        .filter(line -> !line.id().equals("cluster.coordinator"))
                        .allMatch(line -> line.level() == Level.OK && line.fix().isEmpty()),
                () -> report.text(false));
    }

    @Test
    void shouldReportWhetherThreadsMayTakeARealTimePriority() {
        FakeHost host = new FakeHost(directory);
        Line old = line(host.examine(DEFAULTS), "host.realtime");
        host.write("/proc/sys/kernel/osrelease", "6.12.3");
        Line refused = line(host.examine(DEFAULTS), "host.realtime");
        Line spinning = line(host.examine(Map.of("shard.idle", "spin")), "host.realtime");
        Line none = line(host.examine(Map.of("shard.realtime_priority", "0")), "host.realtime");
        host.write("/proc/self/limits", "Max realtime priority     1                    1                    ");
        Line limited = line(host.examine(DEFAULTS), "host.realtime");
        Line higher = line(host.examine(Map.of("shard.realtime_priority", "50")), "host.realtime");
        host.write("/proc/self/status", "CapEff:\t0000000000800000");
        Line capable = line(host.examine(Map.of("shard.realtime_priority", "50")), "host.realtime");
        host.write("/proc/self/uid_map", "         0       1000          1");
        Line inContainer = line(host.examine(Map.of("shard.realtime_priority", "50")), "host.realtime");

        assertEquals(Level.WARN, old.level());
        assertTrue(old.detail().contains("before 6.12"), old.detail());
        assertEquals(Level.WARN, refused.level());
        assertTrue(refused.detail().contains("slices of 0.1 ms"), refused.detail());
        assertTrue(refused.fix().contains("rtprio 1'") && refused.fix().contains("LimitRTPRIO=1"), refused.fix());
        assertEquals("not taken: shard.idle is spin", spinning.detail());
        assertEquals("not taken: shard.realtime_priority is 0", none.detail());
        assertEquals("1 may be taken: the limit is 1", limited.detail());
        assertEquals(Level.WARN, higher.level());
        assertTrue(higher.fix().contains("LimitRTPRIO=50"), higher.fix());
        assertEquals("50 may be taken: this process has CAP_SYS_NICE", capable.detail());
        assertEquals(Level.WARN, inContainer.level(), "the kernel asks for it in the initial user namespace");
    }

    @Test
    void shouldWarnOfLinksForWhichTheJvmPermitsTooLittleMemory() {
        Line enough = MemoryChecks.queuePairs(new QueuePairMemory("links", 1 << 20, 4 << 20));
        Line little = MemoryChecks.queuePairs(new QueuePairMemory("links", 4 << 20, 4 << 20));

        assertEquals(Level.OK, enough.level());
        assertEquals("1 MiB of native memory for queue pairs, 4 MiB permitted", enough.detail());
        assertEquals(Level.WARN, little.level());
        assertEquals("export FARPAGE_JAVA_OPTS=-XX:MaxDirectMemorySize=8m", little.fix());
        assertEquals(
                Level.OK,
                line(new FakeHost(directory).examine(DEFAULTS), "memory.queue_pairs")
                        .level());
    }

    @Test
    void shouldSayHowMuchMemlockThePoolNeeds() {
        Line small = line(new FakeHost(directory).examine(DEFAULTS), "memory.memlock");

        assertEquals(Level.WARN, small.level());
        assertTrue(small.detail().contains("limit 8388608 bytes, the pool needs " + POOL_BYTES), small.detail());
        assertTrue(small.fix().contains("memlock " + POOL_BYTES / 1024 + "'"), small.fix());
    }

    @Test
    void shouldFailWhenLockingIsRequiredAndNotPermitted() {
        FakeHost host = new FakeHost(directory);

        Line required = line(host.examine(Map.of("pool.lock", "require")), "memory.memlock");
        Line hugetlb =
                line(host.examine(Map.of("pool.lock", "require", "pool.hugepages", "require")), "memory.memlock");
        host.write("/proc/self/limits", "Max locked memory         unlimited            unlimited            bytes");
        Line unlimited = line(host.examine(Map.of("pool.lock", "require")), "memory.memlock");

        assertEquals(Level.FAIL, required.level());
        assertEquals(Level.WARN, hugetlb.level(), "hugetlb pages are never swapped");
        assertEquals(Level.OK, unlimited.level());
    }

    @Test
    void shouldExemptAProcessThatMayLockEverything() {
        // Bit 14.
        FakeHost host = new FakeHost(directory).write("/proc/self/status", "CapEff:\t0000000000004000");

        assertEquals(Level.OK, line(host.examine(DEFAULTS), "memory.memlock").level());
        host.write("/proc/self/uid_map", "         0          0 4294967295");
        assertEquals(Level.OK, line(host.examine(DEFAULTS), "memory.memlock").level());
    }

    @Test
    void shouldNotExemptAProcessWhoseCapabilitiesAreOfAUserNamespace() {
        FakeHost host = new FakeHost(directory)
                .write("/proc/self/status", "CapEff:\t0000000000004000")
                .write("/proc/self/uid_map", "         0     100000      65536");

        assertEquals(Level.WARN, line(host.examine(DEFAULTS), "memory.memlock").level());
    }

    @Test
    void shouldCountHugepagesThatAreNotPromised() {
        FakeHost host = new FakeHost(directory);
        host.hugepages("/sys/kernel/mm/hugepages/hugepages-2048kB", 200, 150, 50);

        Line missing = line(host.examine(DEFAULTS), "memory.hugepages", "hugepages 2 MiB");
        Line required = line(host.examine(Map.of("pool.hugepages", "require")), "memory.hugepages", "hugepages 2 MiB");
        Line off = line(host.examine(Map.of("pool.hugepages", "off")), "memory.hugepages", "hugepages 2 MiB");

        assertEquals(Level.WARN, missing.level());
        assertTrue(missing.detail().startsWith("100 of 200 free, the pool needs 145"), missing.detail());
        assertEquals("echo 245 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", missing.fix());
        assertEquals(Level.FAIL, required.level());
        assertEquals(Level.OK, off.level());
    }

    @Test
    void shouldSayThatTheKernelDoesNotOfferAHugepageSize() {
        Line large = line(
                new FakeHost(directory).examine(Map.of("pool.hugepages", "require", "pool.hugepage_size", "1GiB")),
                "memory.hugepages",
                "hugepages 1 GiB");

        assertEquals(Level.FAIL, large.level());
        assertEquals("export FARPAGE_POOL_HUGEPAGE_SIZE=2MiB", large.fix());
    }

    @Test
    void shouldFailForANumaNodeThatThereIsNot() {
        Line numa = line(new FakeHost(directory).examine(Map.of("pool.numa_node", "3")), "memory.numa");

        assertEquals(Level.FAIL, numa.level());
    }

    @Test
    void shouldFindTheLeastLimitOfTheGroupsAbove() {
        FakeHost host = new FakeHost(directory)
                .write("/sys/fs/cgroup/system.slice/page-agent.service/memory.max", "max")
                .write("/sys/fs/cgroup/system.slice/memory.max", "104857600");

        Line limited = line(host.examine(DEFAULTS), "host.cgroup", "cgroup memory");
        host.write("/sys/fs/cgroup/system.slice/memory.max", "" + POOL_BYTES);
        Line enough = line(host.examine(DEFAULTS), "host.cgroup", "cgroup memory");

        assertEquals(Level.FAIL, limited.level());
        assertTrue(limited.detail().contains("100 MiB (/sys/fs/cgroup/system.slice/memory.max)"), limited.detail());
        assertTrue(limited.fix().endsWith("> /sys/fs/cgroup/system.slice/memory.max"), limited.fix());
        assertEquals(Level.OK, enough.level());
    }

    @Test
    void shouldReadGroupsOfVersionOne() {
        FakeHost host = new FakeHost(directory)
                .write("/proc/self/cgroup", "4:memory:/docker/abc\n3:hugetlb:/docker/abc\n0::/")
                .write("/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "104857600")
                .write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712")
                .write("/sys/fs/cgroup/hugetlb/docker/abc/hugetlb.2MB.limit_in_bytes", "2097152");

        Report report = host.examine(Map.of("pool.hugepages", "require"));

        assertEquals(Level.OK, line(report, "host.cgroup", "cgroup memory").level(), "hugetlb pages do not count");
        assertEquals(
                Level.FAIL, line(report, "host.cgroup", "cgroup hugetlb 2MB").level());
        assertEquals(
                Level.FAIL,
                line(host.examine(DEFAULTS), "host.cgroup", "cgroup memory").level());
    }

    /** mmap(2) sets hugepages aside, which counts by itself. */
    @Test
    void shouldNameTheTighterLimitOfHugepagesInUseAndSetAside() {
        FakeHost host = new FakeHost(directory)
                .write("/proc/self/cgroup", "0::/system.slice")
                .write("/sys/fs/cgroup/system.slice/hugetlb.2MB.max", "" + (1L << 40))
                .write("/sys/fs/cgroup/system.slice/hugetlb.2MB.rsvd.max", "2097152");

        Line hugetlb = line(host.examine(Map.of("pool.hugepages", "require")), "host.cgroup", "cgroup hugetlb 2MB");

        assertEquals(Level.FAIL, hugetlb.level());
        assertTrue(hugetlb.fix().endsWith("> /sys/fs/cgroup/system.slice/hugetlb.2MB.rsvd.max"), hugetlb.fix());
    }

    @Test
    void shouldNameALimitOfRdmaObjects() {
        FakeHost host = new FakeHost(directory)
                .rxe()
                .write(
                        "/sys/fs/cgroup/system.slice/rdma.max",
                        "mlx5_0 hca_handle=1 hca_object=1\nrxe0 hca_handle=2 hca_object=max");

        Line limited = line(host.examine(DEFAULTS), "host.cgroup", "cgroup rdma rxe0");
        host.write("/sys/fs/cgroup/system.slice/rdma.max", "rxe0 hca_handle=max hca_object=max");
        Line free = line(host.examine(DEFAULTS), "host.cgroup", "cgroup rdma rxe0");

        assertEquals(Level.WARN, limited.level());
        assertTrue(limited.detail().endsWith("to hca_handle=2 hca_object=max"), limited.detail());
        assertEquals(Level.OK, free.level());
    }

    @Test
    void shouldNameTheUserfaultfdFeaturesThatAreMissing() {
        FakeHost host = new FakeHost(directory);
        // All but POISON (bit 14), as Linux 6.1.
        Line old = line(host.examine(DEFAULTS, () -> ~(1L << 14), Optional.empty()), "paging.userfaultfd");

        assertEquals(Level.WARN, old.level());
        assertTrue(old.detail().contains("without POISON"), old.detail());
    }

    @Test
    void shouldSayHowAnUnprivilegedUserGetsUserfaultfd() {
        FakeHost host = new FakeHost(directory);
        LongSupplier refused = () -> {
            throw new PosixException("userfaultfd", Errno.EPERM);
        };

        Line denied = line(host.examine(DEFAULTS, refused, Optional.empty()), "paging.userfaultfd");

        assertEquals(Level.WARN, denied.level());
        assertEquals("sysctl -w vm.unprivileged_userfaultfd=1", denied.fix());
        assertEquals(Optional.of(denied), HostChecks.userfaultfdRefusal(host.tree(), refused));
    }

    @Test
    void shouldRefuseAGuestThatAsksForAFeatureThatTheKernelLacks() {
        Tree tree = new FakeHost(directory).tree();
        Line lacking = HostChecks.userfaultfdRefusal(tree, () -> {
                    throw new PosixException("UFFDIO_API", Errno.EINVAL);
                })
                .orElseThrow();

        assertTrue(lacking.detail().contains("lacks a feature"), lacking.detail());
        assertEquals(Optional.empty(), HostChecks.userfaultfdRefusal(tree, () -> 0), "opened, with no feature");
    }

    @Test
    void shouldMindGovernorClockBalancingAndSwap() {
        Report report = new FakeHost(directory)
                .write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance")
                .write("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave")
                .write("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet")
                .write("/sys/devices/system/node/node1/meminfo", "")
                .write("/proc/sys/kernel/numa_balancing", "1")
                .write("/proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n/dev/sda2  partition\t1\t0\t-2")
                .write("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]")
                .delete("/dev/kvm")
                .examine(DEFAULTS);

        assertTrue(line(report, "host.governor").detail().startsWith("performance, powersave"));
        assertEquals(
                "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource",
                line(report, "host.clocksource").fix());
        assertEquals(
                "sysctl -w kernel.numa_balancing=0",
                line(report, "memory.numa_balancing").fix());
        assertTrue(line(report, "memory.swap").detail().contains("/dev/sda2"));
        assertEquals(Level.WARN, line(report, "memory.thp").level());
        assertEquals(Level.WARN, line(report, "paging.kvm").level());
        assertEquals(Level.WARN, report.result(), "none of them keeps the agent from running");
    }
}
