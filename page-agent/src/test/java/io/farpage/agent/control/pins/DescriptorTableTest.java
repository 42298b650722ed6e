package io.farpage.agent.control.pins;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.pins.Finding.Kind;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Descriptors as the kernel prints them, in a directory that stands for /proc/PID. */
final class DescriptorTableTest {
    private static final int O_DIRECT = System.getProperty("os.arch", "").equals("aarch64") ? 0x10000 : 0x4000;
    private static final String IDLE = "SqHead:\t3\nSqTail:\t3\nUserFiles:\t0\nUserBufs:\t0\n";
    private static final String LOCKED = "";

    @TempDir
    private Path root = Path.of("");

    @SuppressWarnings("NullAway.Init") // set before each test
    private FakeTask task;

    @BeforeEach
    void haveOrdinaryDescriptors() throws IOException {
        task = new FakeTask(root).with(0, "/dev/null").with(1, "pipe:[4711]").with(2, "/var/log/vmm.log", 0100001, "");
    }

    @ParameterizedTest
    @CsvSource({
        "/dev/vfio/vfio, VFIO pins memory",
        "/dev/vfio/12, VFIO pins memory",
        "/dev/vfio/devices/vfio0, VFIO pins memory",
        "/dev/iommu, VFIO pins memory",
        "anon_inode:[vfio-device], belongs to VFIO",
        "anon_inode:[iommufd-pgfault], belongs to VFIO",
        "/dev/infiniband/uverbs0, RDMA pins registered memory",
        "/dev/infiniband/uverbs11, RDMA pins registered memory",
        "/dev/vhost-vdpa-0, vhost pins memory",
        "/dev/vhost-scsi, vhost pins memory",
        "/dev/udmabuf, udmabuf pins memory",
        "/dev/sev, encrypted guests have their memory pinned",
        "/dev/nvidia0, the driver may pin memory",
        "/dev/sg2, passed through",
        "/dev/bsg/0:0:0:0, passed through",
        "/dev/ng0n1, passed through",
        "/dev/sda1, passed through (SG_IO)",
        "/run/jail/dev/vfio/12, VFIO pins memory"
    })
    void shouldKeepAllPagesWhenDeviceMayPin(String target, String why) throws IOException {
        assertFinds(Kind.LASTING, why, task.with(8, target));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "anon_inode:[eventfd]",
                "anon_inode:[eventpoll]",
                "anon_inode:[userfaultfd]",
                "anon_inode:kvm-vm",
                "anon_inode:kvm-vcpu:0",
                "socket:[20981]",
                "/dev/kvm",
                "/dev/net/tun",
                "/dev/vhost-net",
                "/dev/vhost-vsock",
                "/dev/nvme0n1",
                "/dev/vda",
                "/memfd:memory-backend-memfd (deleted)",
                "/home/vfio/disk.img"
            })
    void shouldFindNothingWhenDescriptorPinsNothing(String target) throws IOException {
        assertFinds(Kind.CLEAR, "", task.with(8, target));
    }

    @ParameterizedTest
    @ValueSource(strings = {"/images/disk.raw", "/images/disk.raw (deleted)", "/dev/nvme0n1", "/dev/vda"})
    void shouldKeepWrittenPagesWhenFileIsOpenForDirectIo(String target) throws IOException {
        assertFinds(Kind.DIRECT_IO, target + ", is open for direct I/O", task.with(8, target, O_DIRECT | 0100002, ""));
    }

    @Test
    void shouldKeepAllPagesWhenDmaBufferIsMadeOfThem() throws IOException {
        String info = "size:\t1048576\ncount:\t2\nexp_name:\tudmabuf\n";
        assertFinds(Kind.LASTING, "udmabuf", task.with(8, "/dmabuf:", 02, info));
    }

    @Test
    void shouldFindNothingWhenDmaBufferIsOfAnotherDriver() throws IOException {
        assertFinds(Kind.CLEAR, "", task.with(8, "/dmabuf:", 02, "size:\t4096\ncount:\t2\nexp_name:\ti915\n"));
    }

    @Test
    void shouldKeepAllPagesWhenRingHasRegisteredBuffers() throws IOException {
        assertFinds(Kind.LASTING, "has registered buffers", task.withRing(8, 50, "UserFiles:\t0\nUserBufs:\t1\n"));
    }

    @Test
    void shouldKeepWrittenPagesWhenRingHasRegisteredFiles() throws IOException {
        assertFinds(Kind.DIRECT_IO, "has registered files", task.withRing(8, 50, "UserFiles:\t2\nUserBufs:\t0\n"));
    }

    @Test
    void shouldFindNothingWhenRingHasNothingRegistered() throws IOException {
        try (DescriptorTable table = task.withRing(8, 50, IDLE).open()) {
            assertEquals(Kind.CLEAR, table.scan(3).kind());
            assertTrue(table.hasRings());
            assertEquals(3, table.provenSince());
        }
    }

    @Test
    void shouldReportDirectIoRatherThanLockedRing() throws IOException {
        task.withRing(8, 50, LOCKED).with(9, "/images/disk.raw", O_DIRECT, "").withRing(10, 51, LOCKED);
        assertFinds(Kind.DIRECT_IO, "/images/disk.raw", task);
    }

    @Test
    void shouldProveNothingWhenRingWasNeverSeenIdle() throws IOException {
        try (DescriptorTable table = task.withRing(8, 50, LOCKED).open()) {
            assertEquals(Kind.BUSY, table.scan(1).kind());
            assertEquals(Kind.BUSY, table.scan(2).kind());
            assertEquals(0, table.provenSince());
            assertFalse(table.areRingsIdle());
        }
    }

    @Test
    void shouldProveInspectionInWhichLockedRingWasLastSeenIdle() throws IOException {
        try (DescriptorTable table = task.withRing(8, 50, IDLE).open()) {
            assertEquals(Kind.CLEAR, table.scan(4).kind());
            task.withRing(8, 50, LOCKED);
            assertEquals(Kind.BUSY, table.scan(5).kind());
            assertEquals(Kind.BUSY, table.scan(6).kind());
            assertEquals(4, table.provenSince());
        }
    }

    @Test
    void shouldProveInspectionWhenLockedRingIsSeenIdleBeforeItEnds() throws IOException {
        try (DescriptorTable table =
                task.withRing(8, 50, LOCKED).withRing(9, 51, LOCKED).open()) {
            assertEquals(Kind.BUSY, table.scan(7).kind());
            task.withRing(8, 50, IDLE);
            assertFalse(table.areRingsIdle());
            task.withRing(8, 50, LOCKED).withRing(9, 51, IDLE);
            assertTrue(table.areRingsIdle(), "each was idle once");
            assertEquals(7, table.provenSince());
        }
    }

    @Test
    void shouldNotSettleWhenUnlockedRingHasRegisteredBuffers() throws IOException {
        try (DescriptorTable table = task.withRing(8, 50, LOCKED).open()) {
            assertEquals(Kind.BUSY, table.scan(1).kind());
            task.withRing(8, 50, "UserFiles:\t0\nUserBufs:\t1\n");
            assertFalse(table.areRingsIdle());
            assertEquals(0, table.provenSince());
        }
    }

    @Test
    void shouldNotTakeOneRingForAnotherWithItsNumber() throws IOException {
        try (DescriptorTable table = task.withRing(8, 50, IDLE).open()) {
            assertEquals(Kind.CLEAR, table.scan(1).kind());
            task.withRing(8, 99, LOCKED);
            assertEquals(Kind.BUSY, table.scan(2).kind());
            assertEquals(0, table.provenSince());
            task.withRing(8, 50, IDLE);
            assertFalse(table.areRingsIdle());
        }
    }

    @Test
    void shouldProveOldestOfLockedRings() throws IOException {
        try (DescriptorTable table =
                task.withRing(8, 50, IDLE).withRing(9, 51, LOCKED).open()) {
            assertEquals(Kind.BUSY, table.scan(1).kind());
            task.withRing(8, 50, LOCKED).withRing(9, 51, IDLE);
            assertEquals(Kind.BUSY, table.scan(2).kind());
            task.withRing(9, 51, LOCKED);
            assertEquals(Kind.BUSY, table.scan(3).kind());
            assertEquals(1, table.provenSince());
        }
    }

    @Test
    void shouldConcludeNothingWhenDescriptorIsClosedMeanwhile() throws IOException {
        assertFinds(
                Kind.CHANGING,
                "closed a descriptor",
                task.with(8, "/images/disk.raw").closing(8));
    }

    @Test
    void shouldFindNoDescriptorsWhenTaskEnds(@TempDir Path empty) throws IOException {
        assertFinds(Kind.EMPTY, "", new FakeTask(empty));
    }

    private static void assertFinds(Kind kind, String detail, FakeTask task) {
        try (DescriptorTable table = task.open()) {
            Finding found = table.scan(1);
            assertEquals(kind, found.kind(), found::toString);
            assertTrue(found.detail().contains(detail), found::toString);
        }
    }
}
