package io.farpage.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.HandoffListener;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.SharedRam;
import io.farpage.it.harness.TinyPager;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What an unmodified QEMU on remote memory refuses in its monitor, and then goes on. */
@NeedsUserfaultfd
class QemuRefusalsTest {
    private static final int MIB = 64;

    @TempDir
    private Path directory = Path.of("");

    /**
     * Memory that is plugged in has a backend of its own. A destination of postcopy migration needs a userfaultfd of
     * its own.
     */
    @Test
    void shouldRefuseMemoryHotplugAndPostcopyMigrationAndGoOn() {
        assumeTrue(
                Stream.of(System.getenv("PATH").split(":"))
                        .anyMatch(path -> Files.isExecutable(Path.of(path, "qemu-system-x86_64"))),
                "there is no qemu-system-x86_64; apt-get install qemu-system-x86");
        SharedRam built = SharedRam.compile(directory);
        Path socket = directory.resolve("socket");
        String commands = String.join(
                "\\n",
                "object_add memory-backend-memfd,id=plugged,size=64M,share=on",
                "migrate_set_capability postcopy-ram on",
                "info status",
                "quit\\n");
        String qemu =
                "qemu-system-x86_64 -S -incoming defer -nodefaults -no-user-config -display none -monitor stdio -accel"
                        + " tcg"
                        + " -m %dM,slots=2,maxmem=1G -object memory-backend-memfd,id=m,size=%dM,share=on"
                                .formatted(MIB, MIB)
                        + " -machine q35,memory-backend=m";
        String piped = "printf '" + commands + "' | env LD_PRELOAD=" + built.library() + " " + qemu;
        Map<String, String> environment = Map.of("FARPAGE_SOCKET", socket.toString());
        try (HandoffListener listener = new HandoffListener(socket);
                ChildJvm process = ChildJvm.launch("qemu", List.of("sh", "-c", piped), environment, directory);
                TinyPager _ = listener.receive().page(MIB * 256, 2)) {
            assertEquals(0, process.awaitEnd(), () -> process.out() + process.err());
            String said = process.out() + process.err();
            assertTrue(said.contains("unable to map backing store for guest RAM: Device or resource busy"), said);
            assertTrue(said.contains("Postcopy is not supported"), said);
            assertTrue(said.contains("VM status: paused"), said);
        }
    }
}
