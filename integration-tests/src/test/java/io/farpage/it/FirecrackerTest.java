package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.agent.Main;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Firecracker;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.NeedsUserfaultfd;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/**
 * Firecracker itself: a microVM is saved, its memory goes to a space whose pages are on another node, and another
 * Firecracker resumes it there. Its guest compares 64 MiB, pass after pass, and counts on from where it was saved.
 */
@Tag("soak")
@NeedsUserfaultfd
class FirecrackerTest {
    private static final long MIB = 1 << 20;
    private static final long RAM = 256 * MIB;
    private static final long COMPARED_PAGES = 64 * MIB / 4096;
    private static final int MISSING = 77;
    private static final Pattern PASS = Pattern.compile("guest: pass (\\d+) of 64 MiB, (\\d+) differences");
    private static final Path ROOT =
            Path.of(System.getProperty("farpage.root", "..")).toAbsolutePath();

    @TempDir
    private Path directory = Path.of("");

    private static Path program() {
        Path program = Firecracker.program().orElse(Path.of(""));
        assumeTrue(
                !program.toString().isEmpty(),
                "there is no firecracker on the PATH, and FARPAGE_FIRECRACKER names none; get one from Firecracker's"
                        + " releases");
        assumeTrue(Files.isExecutable(program), "FARPAGE_FIRECRACKER: " + program + " is not executable");
        assumeTrue(
                Files.isReadable(Path.of("/dev/kvm")) && Files.isWritable(Path.of("/dev/kvm")),
                "this user may not use /dev/kvm, which Firecracker needs");
        return program;
    }

    private void prepare() {
        String prepare = ROOT.resolve("integration-tests/firecracker/prepare").toString();
        try (ChildJvm preparation =
                ChildJvm.launch("prepare", List.of(prepare, directory.toString()), Map.of(), directory)) {
            int code = preparation.awaitEnd();
            assumeTrue(code != MISSING, preparation.err());
            assertEquals(0, code, preparation::err);
        }
    }

    @Test
    void shouldResumeASnapshotWhosePagesAreOnAnotherNode() throws Exception {
        Path program = program();
        prepare();
        int saved = save(program);
        try (Cluster cluster = Cluster.start()) {
            cluster.openAgent("a", Map.of("pool.staging", "32MiB"));
            cluster.openAgent("b", Map.of("pool.exported", "300MiB", "pool.staging", "32MiB"));
            cluster.awaitAllLinks();
            cluster.makeSpace("microvm", RAM / 4096, 4096, "b");
            load(cluster);
            Guests guests = new Guests(cluster, "a", "b");
            Path socket = directory.resolve("farpage.sock");
            guests.attach("microvm", socket, RAM, RAM);
            try (Firecracker resumed = Firecracker.start(program, directory, "resumed")) {
                resumed.request(
                        "PUT",
                        "/snapshot/load",
                        ("{\"snapshot_path\":\"%s\",\"mem_backend\":{\"backend_type\":\"Uffd\","
                                        + "\"backend_path\":\"%s\"},\"resume_vm\":true}")
                                .formatted(directory.resolve("state"), socket));
                int passes = awaitPasses(resumed, saved + 3);
                assertTrue(firstPass(resumed) > saved, "the guest goes on counting:\n" + resumed.console());
                JsonNode status = guests.status("microvm");
                System.out.println("Firecracker: saved after pass " + saved
                        + ", resumed, and compared 64 MiB without a difference until pass "
                        + passes + "; " + status.get("fetchedFaults") + " faults fetched, "
                        + status.get("residentPages")
                        + " pages resident");
                assertTrue(status.get("fetchedFaults").asLong() > 0, status.toString());
                assertTrue(status.get("residentPages").asLong() >= COMPARED_PAGES, status.toString());
                assertEquals(0, status.get("lostPages").asInt(), status.toString());
            }
            guests.awaitEnded("microvm");
        }
    }

    /** Boots a microVM and saves it after a pass. Returns the last pass that it has told. */
    private int save(Path program) throws Exception {
        try (Firecracker booted = Firecracker.start(program, directory, "booted")) {
            booted.request("PUT", "/machine-config", "{\"vcpu_count\":1,\"mem_size_mib\":%d}".formatted(RAM / MIB));
            booted.request(
                    "PUT",
                    "/boot-source",
                    ("{\"kernel_image_path\":\"%s\",\"initrd_path\":\"%s\","
                                    + "\"boot_args\":\"console=ttyS0 reboot=k panic=1 quiet\"}")
                            .formatted(directory.resolve("vmlinux"), directory.resolve("initramfs.cpio")));
            booted.request("PUT", "/actions", "{\"action_type\":\"InstanceStart\"}");
            awaitPasses(booted, 2);
            booted.request("PATCH", "/vm", "{\"state\":\"Paused\"}");
            booted.request(
                    "PUT",
                    "/snapshot/create",
                    "{\"snapshot_type\":\"Full\",\"snapshot_path\":\"%s\",\"mem_file_path\":\"%s\"}"
                            .formatted(directory.resolve("state"), directory.resolve("memory")));
            return passes(booted).orElseThrow();
        }
    }

    private void load(Cluster cluster) {
        try (ChildJvm load = ChildJvm.start(
                "load",
                Main.class,
                List.of(
                        "load",
                        "--agent=" + cluster.agent("a").rest().base(),
                        "--space=microvm",
                        "--file=" + directory.resolve("memory")))) {
            assertEquals(0, load.awaitEnd(), load::err);
        }
    }

    private static int awaitPasses(Firecracker microvm, int wanted) {
        await("pass " + wanted + " of the guest", Duration.ofMinutes(2))
                .until(() -> !microvm.isAlive() || passes(microvm).orElse(0) >= wanted);
        assertTrue(microvm.isAlive(), microvm.describe());
        return passes(microvm).orElseThrow();
    }

    /** The latest pass that the guest has reported. Checks that no pass has found a difference. */
    private static OptionalInt passes(Firecracker microvm) {
        List<MatchResult> all = PASS.matcher(microvm.console()).results().toList();
        all.forEach(pass -> assertEquals("0", pass.group(2), microvm.console()));
        return all.isEmpty()
                ? OptionalInt.empty()
                : OptionalInt.of(Integer.parseInt(all.getLast().group(1)));
    }

    private static int firstPass(Firecracker microvm) {
        return PASS.matcher(microvm.console())
                .results()
                .mapToInt(pass -> Integer.parseInt(pass.group(1)))
                .findFirst()
                .orElseThrow();
    }
}
