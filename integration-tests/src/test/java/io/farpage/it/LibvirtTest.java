package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.SharedRam;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/**
 * The hook and the domain of docs/vmm-integration.md, with a libvirtd of this test's own and Debian's QEMU, whose
 * firmware touches the guest's RAM.
 */
@NeedsUserfaultfd
@Tag("soak")
@Tag("long")
class LibvirtTest {
    private static final Path ROOT =
            Path.of(System.getProperty("farpage.root", "..")).toAbsolutePath().normalize();
    private static final String DOMAIN = "demo";
    private static final long LOCAL_PAGES = 4096;

    @TempDir
    private static Path directory = Path.of("");

    private static Optional<Cluster> cluster = Optional.empty();
    private static Optional<ChildJvm> libvirt = Optional.empty();
    private static Optional<SharedRam> library = Optional.empty();

    @BeforeAll
    static void start() throws Exception {
        for (String program : List.of("libvirtd", "virsh", "qemu-system-x86_64", "nsenter")) {
            assumeTrue(
                    Stream.of(System.getenv("PATH").split(":"))
                            .anyMatch(path -> Files.isExecutable(Path.of(path, program))),
                    "there is no " + program
                            + "; apt-get install libvirt-daemon-system libvirt-clients qemu-system-x86");
        }
        library = Optional.of(SharedRam.compile(directory));
        Cluster started = Cluster.start();
        cluster = Optional.of(started);
        started.openAgent("a", Map.of());
        started.openAgent("b", Map.of("pool.exported", "128MiB"));
        started.awaitAllLinks();
        String agent = started.agent("a").rest().base().toString();
        libvirt = Optional.of(ChildJvm.launch(
                "libvirtd",
                List.of(
                        ROOT.resolve("integration-tests/libvirt/daemon").toString(),
                        directory.resolve("libvirt").toString(),
                        ROOT.resolve("bin/page-agent").toString(),
                        "libvirt-hook",
                        "--agent",
                        agent),
                Map.of(),
                directory));
        await("libvirtd answers", Deadlines.LONG).until(() -> virsh("list").code() == 0);
    }

    @AfterAll
    static void end() {
        libvirt.ifPresent(ChildJvm::close);
        cluster.ifPresent(Cluster::close);
    }

    private record Said(int code, String text) {}

    private static Said virsh(String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                "nsenter",
                "--mount",
                "--target",
                Long.toString(libvirt.orElseThrow().pid()),
                "virsh",
                "--connect",
                "qemu:///system"));
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return new Said(
                Deadlines.exit("the end of virsh, after " + text, Deadlines.LONG.multipliedBy(2), process), text);
    }

    /** A domain; what is empty is left out. */
    private static Path domain(String guest, String memory) throws IOException {
        Path file = directory.resolve(DOMAIN + ".xml");
        return Files.writeString(
                file, """
                <domain type='qemu' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
                  <name>%s</name>
                  <metadata>%s</metadata>
                  <memory unit='MiB'>64</memory>
                  <memoryBacking>%s</memoryBacking>
                  <vcpu>1</vcpu>
                  <os><type arch='x86_64' machine='q35'>hvm</type></os>
                  <devices>
                    <emulator>/usr/bin/qemu-system-x86_64</emulator>
                    <memballoon model='none'/>
                  </devices>
                  <qemu:commandline>
                    <qemu:env name='LD_PRELOAD' value='%s'/>
                    <qemu:env name='FARPAGE_SOCKET' value='%s'/>
                  </qemu:commandline>
                </domain>
                """.formatted(DOMAIN, guest, memory, library.orElseThrow().library(), directory.resolve("vmm")));
    }

    private static final String SHARED = "<source type='memfd'/><access mode='shared'/>";

    private static String guest(String attributes) {
        return "<farpage:guest xmlns:farpage='urn:farpage:guest:1' %s/>".formatted(attributes);
    }

    private static Optional<JsonNode> status() {
        return cluster.orElseThrow()
                .agent("a")
                .rest()
                .get("/api/v1/spaces")
                .expect(200)
                .json()
                .valueStream()
                .filter(one -> one.get("space").asString().equals(DOMAIN))
                .findFirst();
    }

    private static boolean isIn(String state) {
        return status().filter(one -> one.get("state").asString().equals(state)).isPresent();
    }

    @Test
    void shouldRunADomainOnRemoteMemoryAndLetGoOfItAfterwards() throws Exception {
        Path file = domain(guest("local='16MiB'"), SHARED);
        for (int round = 0; round < 2; round++) {
            Said created = virsh("create", file.toString());
            assertEquals(0, created.code(), created.text());
            await("its firmware has touched more than may be resident", Deadlines.LONG.multipliedBy(2))
                    .until(() -> isIn("attached")
                            && status().orElseThrow().get("faults").asLong() > 100);
            assertTrue(status().orElseThrow().get("peakResidentPages").asLong() <= LOCAL_PAGES);
            assertEquals(0, virsh("destroy", DOMAIN).code());
            await("the agent has let go of it", Deadlines.LONG).until(() -> !isIn("attached") && !isIn("waiting"));
        }
    }

    @Test
    void shouldNotStartADomainThatWouldNotBeOnRemoteMemory() throws Exception {
        Said refused = virsh("create", domain(guest("local='16MiB'"), "").toString());
        assertNotEquals(0, refused.code());
        assertTrue(refused.text().contains("its RAM must be a shared memfd"), refused.text());
        Said unknown = virsh("create", domain(guest("homes='nowhere'"), SHARED).toString());
        assertNotEquals(0, unknown.code());
        assertTrue(unknown.text().contains("nowhere"), unknown.text());
        assertTrue(status().isEmpty(), "nothing waits for a VMM that never comes");
    }
}
