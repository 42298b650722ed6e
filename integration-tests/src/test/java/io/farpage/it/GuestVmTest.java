package io.farpage.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.bench.Main;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.HandoffListener;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.TinyPager;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** {@code page-bench guest-vm} with its RAM handed over: a vCPU of KVM faults, another process brings the page. */
@NeedsUserfaultfd
@Tag("processes")
class GuestVmTest {
    private static final int PAGES = 40;

    @TempDir
    private Path directory = Path.of("");

    @BeforeEach
    void hasKvm() {
        Path kvm = Path.of("/dev/kvm");
        assumeTrue(Files.isReadable(kvm) && Files.isWritable(kvm), "/dev/kvm cannot be opened by this user");
    }

    @ParameterizedTest
    @CsvSource({"memfd, sequential, 1", "memfd, random, 1", "anonymous, random, 2"})
    void shouldRunOnMemoryThatAnotherProcessPages(String backing, String pattern, int vcpus) {
        boolean evicts = backing.equals("memfd");
        try (HandoffListener listener = new HandoffListener(socket());
                ChildJvm guest = start(
                        "--backing=" + backing,
                        "--pattern=" + pattern,
                        "--vcpus=" + vcpus,
                        "--passes=write,read,modify,read");
                TinyPager pager = listener.receive().page(PAGES, evicts ? 2 : 1)) {
            assertEquals(0, guest.awaitEnd(), () -> guest.out() + guest.err());

            JsonNode result = new JsonMapper().readTree(guest.out());
            assertEquals("remote", result.get("memory").asString());
            assertEquals(4 * PAGES, result.get("pagesTouched").asInt());
            assertEquals(0, result.get("mismatches").asInt());
            assertEquals(evicts ? 4 * PAGES : PAGES, pager.faults());
            assertEquals(evicts ? pager.faults() - 1 : 0, pager.evictions());
        }
    }

    @Test
    void shouldReportMismatchesWhenPagesHoldOtherContent() {
        try (HandoffListener listener = new HandoffListener(socket());
                ChildJvm guest = start("--passes=zeros", "--pattern=sequential");
                TinyPager _ = listener.receive().page(PAGES, 2)) {
            assertEquals(1, guest.awaitEnd(), () -> guest.out() + guest.err());

            JsonNode pass = new JsonMapper().readTree(guest.out()).get("passes").get(0);
            assertEquals(PAGES, pass.get("mismatches").asInt());
            assertEquals(
                    "page 0 holds 0x1 at byte 0, expected 0x0",
                    pass.get("firstMismatch").asString());
        }
    }

    @Test
    void shouldTimeOutWhenAPageNeverArrives() {
        try (HandoffListener listener = new HandoffListener(socket());
                ChildJvm guest = start("--timeout=500ms")) {
            listener.receive();
            assertEquals(1, guest.awaitEnd(), () -> guest.out() + guest.err());
            assertEquals("", guest.out());
            assertTrue(guest.err().contains("the pass zeros is not done after 0.5 s"), guest.err());
        }
    }

    private ChildJvm start(String... more) {
        List<String> arguments =
                new ArrayList<>(List.of("guest-vm", "--socket=" + socket(), "--memory=" + PAGES * 4096));
        arguments.addAll(List.of(more));
        return ChildJvm.start("guest-vm", Main.class, arguments);
    }

    private Path socket() {
        return directory.resolve("socket");
    }
}
