package io.farpage.guest.vmm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.guest.command.CommandException;
import io.farpage.guest.vmm.GuestMemory.Backing;
import io.farpage.guest.vmm.GuestResult.PassResult;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Whole runs on local memory, on this machine's KVM. */
final class GuestRunTest {
    private static final List<Pass> ALL =
            List.of(Pass.ZEROS, Pass.WRITE, Pass.READ, Pass.MODIFY, Pass.MODIFY, Pass.READ);

    @TempDir
    private Path directory = Path.of("");

    @ParameterizedTest
    @EnumSource(Walk.class)
    void shouldVisitEveryPageInEveryPass(Walk walk) throws Exception {
        assumeKvm();
        GuestResult result = GuestRun.run(plan(100 * 4096, Backing.MEMFD, 3, walk, ALL, Optional.empty()));

        assertEquals(
                ALL.stream().map(Pass::label).toList(),
                result.passes().stream().map(PassResult::pass).toList());
        result.passes().forEach(pass -> {
            assertEquals(100, pass.pages(), pass.toString());
            assertEquals(0, pass.mismatches(), pass.toString());
            assertTrue(pass.ns() > 0, pass.toString());
        });
    }

    @ParameterizedTest
    @CsvSource({"4096, 1", "8192, 2", "12288, 3"})
    void shouldRunWithAPageForEachVcpu(long bytes, int vcpus) throws Exception {
        assumeKvm();
        GuestResult result = GuestRun.run(plan(bytes, Backing.ANONYMOUS, vcpus, Walk.RANDOM, ALL, Optional.empty()));

        assertEquals(vcpus * (long) ALL.size(), result.pagesTouched());
        assertEquals(0, result.mismatches());
    }

    @Test
    void shouldRunWithMoreMemoryThanOnePageDirectoryMaps() throws Exception {
        assumeKvm();
        GuestMemory memory = GuestMemory.map(Backing.ANONYMOUS, 3L << 30);
        try (memory;
                VirtualMachine machine = VirtualMachine.create(memory, 1)) {
            PageRange last = new PageRange((3L << 18) - 2, 2);
            Content content = Content.written(1, 1);
            GuestReport report = new GuestReport();
            for (Pass pass : List.of(Pass.WRITE, Pass.READ)) {
                machine.vcpus()
                        .getFirst()
                        .run(GuestCode.assemble(pass, new GuestCode.Steps(1), last, 512, content, content), report);
                assertEquals(2, report.visited());
                assertEquals(0, report.mismatches());
            }
        }
    }

    @Test
    void shouldNameTheSocketWhenNoAgentListens() {
        assumeKvm();
        Path socket = directory.resolve("absent");
        CommandException e = assertThrows(
                CommandException.class,
                () -> GuestRun.run(plan(4096, Backing.MEMFD, 1, Walk.RANDOM, ALL, Optional.of(socket))));
        assertTrue(
                String.valueOf(e.getMessage()).startsWith("no agent listens at " + socket + ": ENOENT"),
                e.getMessage());
    }

    @ParameterizedTest
    @CsvSource({
        "0, 1, 1, 1, WRITE, --memory is 0 bytes",
        "4097, 1, 1, 1, WRITE, --memory is 4097 bytes",
        "68719476736, 1, 1, 1, WRITE, --memory is 68719476736 bytes",
        "8192, 0, 1, 1, WRITE, --pagers is 0",
        "8192, 3, 1, 1, WRITE, --pagers is 3",
        "1048576, 17, 1, 1, WRITE, --pagers is 17",
        "4096, 1, 0, 1, WRITE, --vcpus is 0",
        "4096, 1, 2, 1, WRITE, --vcpus is 2",
        "4096, 1, 1, 3, WRITE, --words is 3",
        "4096, 1, 1, 1024, WRITE, --words is 1024",
        "4096, 1, 1, 1, READ, --passes has read before a write",
        "4096, 1, 1, 1, MODIFY, --passes has modify before a write"
    })
    void shouldRefuseAPlanThatCannotBe(long bytes, int pagers, int vcpus, int words, Pass pass, String message) {
        IllegalArgumentException e = assertThrows(
                IllegalArgumentException.class,
                () -> new GuestPlan(
                        bytes,
                        Backing.MEMFD,
                        Optional.empty(),
                        pagers,
                        vcpus,
                        Walk.RANDOM,
                        1,
                        words,
                        List.of(pass),
                        0,
                        1,
                        Duration.ofSeconds(1)));
        assertTrue(String.valueOf(e.getMessage()).startsWith(message), e.getMessage());
    }

    private static GuestPlan plan(
            long bytes, Backing backing, int vcpus, Walk walk, List<Pass> passes, Optional<Path> socket) {
        return new GuestPlan(bytes, backing, socket, 1, vcpus, walk, 17, 4, passes, 0, 42, Duration.ofSeconds(60));
    }

    private static void assumeKvm() {
        Optional<String> whyNot = Kvm.whyNot();
        assumeTrue(whyNot.isEmpty(), () -> "no KVM: " + whyNot.orElseThrow());
    }
}
