package io.farpage.it;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.Main;
import io.farpage.agent.cloudhypervisor.PageSource;
import io.farpage.agent.cloudhypervisor.Restore;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Agent;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.CloudHypervisorPeer;
import io.farpage.it.harness.CloudHypervisorPeer.Installs;
import io.farpage.it.harness.CloudHypervisorPeer.Manner;
import io.farpage.it.harness.CloudHypervisorPeer.Range;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Command;
import io.farpage.it.harness.NeedsUserfaultfd;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Restores of Cloud Hypervisor, against a peer that is written from the definition of its protocol. */
class CloudHypervisorTest {
    private static final int SMALL = 4096;
    private static final int LARGE = 2 << 20;
    /**
     * Below and above the hole for devices, as a virtual machine with more than 3 GiB has its RAM; the second one is
     * backed by hugepages.
     */
    private static final List<Range> RANGES = List.of(new Range(0, 1024, SMALL), new Range(1L << 32, 3, LARGE));

    private static final int BYTES = 1024 * SMALL + 3 * LARGE;
    /** The same layout with fewer pages. Each page is fetched from another node. */
    private static final List<Range> FEWER = List.of(new Range(0, 64, SMALL), new Range(1L << 32, 1, LARGE));

    private static final int FEWER_BYTES = 64 * SMALL + LARGE;

    @TempDir
    private Path directory = Path.of("");

    private final byte[] memory = content();

    private static byte[] content() {
        byte[] bytes = new byte[BYTES];
        new Random(20_261_123).nextBytes(bytes);
        return bytes;
    }

    /** As {@code VmMigrationConfig} is serialized, with its ranges in the order of their slots. */
    private static byte[] config(List<Range> ranges) {
        return ranges.reversed().stream()
                .map(range -> ("{\"slot\":%d,\"gpa\":%d,\"size\":%d,\"zone_id\":\"mem0\","
                                + "\"virtio_mem\":false,\"file_offset\":0}")
                        .formatted(range.gpa() >>> 32, range.gpa(), (long) range.pages() * range.pageSize()))
                .collect(Collectors.joining(
                        ",",
                        "{\"vm_config\":{\"cpus\":{\"boot_vcpus\":1}},\"common_cpuid\":[],"
                                + "\"memory_manager_data\":{\"memory_ranges\":{\"data\":[]},\"guest_ram_mappings\":[",
                        "]}}"))
                .getBytes(StandardCharsets.UTF_8);
    }

    private Restore restore(Path socket, int pageSize, boolean resume, PageSource source) {
        return new Restore(
                new Restore.Snapshot(config(RANGES), "{\"state\": 1}".getBytes(StandardCharsets.UTF_8), resume),
                socket,
                Deadlines.of(Duration.ofSeconds(1)),
                source,
                pageSize,
                BYTES);
    }

    private PageSource source(int pageSize) {
        return number -> Arrays.copyOfRange(memory, (int) number * pageSize, ((int) number + 1) * pageSize);
    }

    @ParameterizedTest
    @CsvSource({"4096, true", "4096, false", "2097152, true"})
    void shouldGiveEachPageWhateverSizeThePagesOfTheSpaceHave(int pageSize, boolean resume) throws Exception {
        Path socket = directory.resolve("ch");
        try (CloudHypervisorPeer peer = new CloudHypervisorPeer(socket, RANGES, Manner.RECEIVES)) {
            long faults = restore(socket, pageSize, resume, source(pageSize)).run();
            assertEquals("received", peer.result());
            assertEquals(1024 + 3 + 1, faults);
            assertEquals("{\"state\": 1}", peer.state());
            assertEquals(resume, peer.isResumed());
            int at = 0;
            for (byte[] page : peer.pages()) {
                assertArrayEquals(Arrays.copyOfRange(memory, at, at + page.length), page, "at " + at);
                at += page.length;
            }
            assertEquals(BYTES, at);
        }
    }

    @NeedsUserfaultfd
    @ParameterizedTest
    @EnumSource(Installs.class)
    void shouldFillTheRamHoweverPagesAreInstalled(Installs how) throws Exception {
        Path socket = directory.resolve("ch");
        try (CloudHypervisorPeer peer = new CloudHypervisorPeer(socket, RANGES, how)) {
            restore(socket, SMALL, true, source(SMALL)).run();
            assertEquals("received", peer.result());
            assertArrayEquals(memory, peer.ram());
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Manner.class,
            names = {
                "REFUSES_CONFIG",
                "ENDS_AFTER_CONFIG",
                "ENDS_IN_A_FAULT",
                "ENDS_AFTER_HALF_OF_A_FAULT",
                "NEVER_ANSWERS_STATE"
            })
    void shouldSayWhichStepFailedWhenTheOtherSideEndsOrHangs(Manner manner) throws Exception {
        Path socket = directory.resolve("ch");
        try (CloudHypervisorPeer peer = new CloudHypervisorPeer(socket, RANGES, manner)) {
            IOException failed = assertThrows(
                    IOException.class,
                    () -> restore(socket, SMALL, true, source(SMALL)).run());
            String step = manner.name().contains("CONFIG") && manner != Manner.ENDS_AFTER_CONFIG ? "Config" : "State";
            assertTrue(
                    String.valueOf(failed.getMessage()).startsWith(step) || (manner == Manner.ENDS_AFTER_CONFIG),
                    failed.toString());
            assertTrue(String.valueOf(failed.getMessage()).contains("Cloud Hypervisor"), failed.toString());
            assertFalse(peer.result().equals("received"));
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Manner.class,
            names = {"SENDS_GARBAGE", "FAULTS_OUTSIDE_ITS_RAM"})
    void shouldAnswerWithAnErrorWhatIsNoFaultOfItsRam(Manner manner) throws Exception {
        Path socket = directory.resolve("ch");
        try (CloudHypervisorPeer peer = new CloudHypervisorPeer(socket, RANGES, manner)) {
            assertThrows(
                    IOException.class,
                    () -> restore(socket, SMALL, true, source(SMALL)).run());
            assertEquals("status 2", peer.result());
        }
    }

    @Test
    void shouldAcknowledgeThatTheOtherSideAbandons() throws Exception {
        Path socket = directory.resolve("ch");
        try (CloudHypervisorPeer peer = new CloudHypervisorPeer(socket, RANGES, Manner.ABANDONS)) {
            assertThrows(
                    IOException.class,
                    () -> restore(socket, SMALL, true, source(SMALL)).run());
            assertEquals("status 1", peer.result());
        }
    }

    @Test
    void shouldNeverGiveZerosForAPageThatCannotBeRead() throws Exception {
        Path socket = directory.resolve("ch");
        PageSource lost = number -> {
            if (number == 7) {
                throw new IOException("page 7 was on b, which has restarted");
            }
            return source(SMALL).page(number);
        };
        try (CloudHypervisorPeer peer = new CloudHypervisorPeer(socket, RANGES, Manner.RECEIVES)) {
            IOException failed = assertThrows(
                    IOException.class, () -> restore(socket, SMALL, true, lost).run());
            assertTrue(
                    String.valueOf(failed.getMessage()).contains("address 0x7000 could not be read"),
                    failed.toString());
            assertTrue(peer.result().contains("status 2 for PageFault at gpa=0x7000"), peer.result());
        }
    }

    @Test
    void shouldSayHowToHaveCloudHypervisorReceiveWhenItDoesNot() {
        IOException failed = assertThrows(
                IOException.class,
                () -> restore(directory.resolve("nothing"), SMALL, true, source(SMALL))
                        .run());
        assertTrue(
                String.valueOf(failed.getMessage()).contains("receive-migration receiver_url=unix:"),
                failed.toString());
    }

    @Test
    void shouldRefuseASpaceThatIsSmallerThanTheRam() {
        Restore.Snapshot snapshot = new Restore.Snapshot(config(RANGES), new byte[1], true);
        IllegalArgumentException refused = assertThrows(
                IllegalArgumentException.class,
                () -> new Restore(
                        snapshot, directory.resolve("ch"), Duration.ofSeconds(1), source(SMALL), SMALL, BYTES - SMALL));
        assertTrue(String.valueOf(refused.getMessage()).contains(Integer.toString(BYTES)), refused.toString());
    }

    @Test
    @Tag("processes")
    void shouldRestoreFromASpaceWhosePagesAreOnAnotherNode() throws Exception {
        try (Cluster two = Cluster.of(Map.of("pool.exported", "32MiB"), "a", "b")) {
            Agent agent = two.agent("a");
            two.makeSpace("vm1", FEWER_BYTES / SMALL, SMALL, "b");
            agent.rest()
                    .send(
                            "PUT",
                            "/api/v1/spaces/vm1/memory",
                            "application/octet-stream",
                            Arrays.copyOf(memory, FEWER_BYTES))
                    .expect(204);
            Files.write(directory.resolve("migration_config.json"), config(FEWER));
            Files.writeString(directory.resolve("state.json"), "the state");
            Path socket = directory.resolve("ch");
            try (CloudHypervisorPeer peer = new CloudHypervisorPeer(socket, FEWER, Manner.RECEIVES)) {
                Command.agent(restore(agent, "vm1", socket)).done();
                assertEquals("received", peer.result());
                assertEquals("the state", peer.state());
                assertTrue(peer.isResumed());
                int at = 0;
                for (byte[] page : peer.pages()) {
                    assertArrayEquals(Arrays.copyOfRange(memory, at, at + page.length), page, "at " + at);
                    at += page.length;
                }
                assertEquals(FEWER_BYTES, at);
            }
            try (ChildJvm none = ChildJvm.start("restore", Main.class, restore(agent, "vm2", socket))) {
                assertEquals(1, none.awaitEnd());
                assertTrue(none.err().contains("there is no space 'vm2'"), none.err());
            }
            Command silent = Command.agent(restore(agent, "vm1", directory.resolve("nothing")));
            assertEquals(1, silent.code());
            assertTrue(silent.err().contains("first have it receive"), silent.err());
        }
    }

    private List<String> restore(Agent agent, String space, Path socket) {
        return List.of(
                "cloud-hypervisor-restore",
                "--agent",
                agent.rest().base().toString(),
                "--space",
                space,
                "--input-dir",
                directory.toString(),
                "--socket",
                socket.toString(),
                "--resume");
    }
}
