package io.farpage.agent.control.pins;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.pins.Finding.Kind;
import io.farpage.linux.uffd.MemoryFile;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.StringReader;
import java.lang.foreign.Arena;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** This process maps a file; the VMM is another one. */
final class MemoryOwnersTest {
    private static final MappedFile FILE = new MappedFile(" 00:01 ", 7);
    private static final String READABLE = "7f0000000000-7f0000100000 r--s 00000000 00:01 7 /memfd:ram\n";
    private static final String WITHOUT_ACCESS = "7f0000000000-7f0000100000 ---s 00000000 00:01 7 /memfd:ram\n";
    private static final String OTHER = "7f0000200000-7f0000300000 rw-s 00000000 00:01 8 /memfd:other\n";
    private static final String PLAIN = "VmFlags: rd sh mr mw me ms sd\n";
    private static final String REGISTERED = "VmFlags: rd sh mr mw me ms um uw\n";

    private final AtomicLong clock = new AtomicLong();
    private final MappingSearch search = new MappingSearch(new File("/proc"), clock::get);
    private final int self = (int) ProcessHandle.current().pid();

    @SuppressWarnings("NullAway.Init") // set before each test
    private MemoryFile file;

    @SuppressWarnings("NullAway.Init")
    private Process vmm;

    @BeforeEach
    void start() throws IOException {
        file = MemoryFile.create("ram", 4096);
        vmm = new ProcessBuilder("sleep", "60").start();
    }

    @AfterEach
    void stop() {
        vmm.destroyForcibly();
        file.close();
    }

    @Test
    void shouldFindProcessThatMapsTheMemoryWithoutBeingServed() throws IOException {
        MemoryOwners owners = new MemoryOwners(file.fd(), search, 0);
        assertEquals(OptionalInt.empty(), unserved(owners, vmmPid()));
        try (Arena mapping = Arena.ofConfined()) {
            map(mapping);
            assertEquals(OptionalInt.of(self), unserved(owners, vmmPid()));
            assertEquals(OptionalInt.empty(), unserved(owners, self), "the VMM itself");
            assertEquals(
                    OptionalInt.empty(), unserved(new MemoryOwners(file.fd(), search, self), vmmPid()), "the agent");
        }
        assertEquals(OptionalInt.empty(), unserved(owners, vmmPid()));
    }

    @Test
    void shouldSuspendEvictionWhileAnotherProcessMapsTheMemory() throws IOException {
        try (PinInspector inspector = new PinInspector(vmmPid(), new MemoryOwners(file.fd(), search, 0))) {
            try (Arena mapping = Arena.ofConfined()) {
                map(mapping);
                lookForOthers(inspector);
                assertTrue(inspector.unserved().isPresent());
                Finding found = inspector.scan(1);
                assertEquals(Kind.UNSERVED, found.kind());
                assertTrue(found.mayPin());
                assertTrue(found.detail().contains("process " + self + " maps the memory"), found::toString);
            }
            lookForOthers(inspector);
            assertTrue(inspector.unserved().isEmpty());
            assertTrue(inspector.scan(2).isClear());
        }
    }

    /** One search for the owners of the memory answers both questions of a handoff. */
    @Test
    void shouldKnowUnservedProcessOnceInspectionBegins() throws IOException {
        try (Arena mapping = Arena.ofConfined()) {
            map(mapping);
            try (PinInspector inspector = new PinInspector(vmmPid(), new MemoryOwners(file.fd(), search, 0))) {
                assertTrue(inspector.unserved().orElseThrow().contains("process " + self + " maps the memory"));
            }
        }
    }

    @Test
    void shouldTakeProcessForServedWhenUserfaultfdIsRegistered() throws IOException {
        assertTrue(isServed(READABLE + REGISTERED));
        assertTrue(isServed(READABLE + PLAIN + READABLE + REGISTERED), "a child has inherited a second mapping, too");
        assertTrue(isServed(WITHOUT_ACCESS + PLAIN), "nothing can be read there");
        assertTrue(!isServed(READABLE + PLAIN + OTHER + REGISTERED), "of another file");
    }

    private static OptionalInt unserved(MemoryOwners owners, int vmm) {
        return owners.unserved(owners.now(), vmm);
    }

    private static boolean isServed(String smaps) throws IOException {
        return MemoryOwners.isServed(new BufferedReader(new StringReader(smaps)), FILE);
    }

    private void lookForOthers(PinInspector inspector) {
        clock.addAndGet(Duration.ofSeconds(5).toNanos());
        inspector.lookForOthers();
    }

    private int vmmPid() {
        return (int) vmm.pid();
    }

    private void map(Arena mapping) throws IOException {
        try (FileChannel channel = FileChannel.open(Path.of("/proc/self/fd/" + file.fd()), StandardOpenOption.READ)) {
            var _ = channel.map(MapMode.READ_ONLY, 0, 4096, mapping);
        }
    }
}
