package io.farpage.linux.uffd;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.linux.Errno;
import io.farpage.linux.Libc;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MemoryFileTest {
    private static final int MFD_ALLOW_SEALING = 2;
    private static final int F_ADD_SEALS = 1033;
    private static final int EPERM = 1;
    private static final int EBADF = 9;

    private static final MethodHandle memfd_create$mh =
            Libc.capturing("memfd_create", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT));
    private static final MethodHandle open$mh =
            Libc.capturing("open", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT));
    private static final MethodHandle fcntl$mh =
            Libc.capturing("fcntl", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT), 2);

    private final Errno errno = Errno.create();

    @Test
    void shouldFindNoObstacleToPunchingAnOrdinaryFile() {
        try (MemoryFile file = MemoryFile.create("ordinary", 4096)) {
            assertEquals(Optional.empty(), MemoryFile.obstacleToPunching(file.fd()));
            assertEquals(0, file.punchHole(0, 4096));
        }
    }

    /** Seals of the length allow holes, because a hole keeps the length. */
    @ParameterizedTest
    @ValueSource(ints = {2, 4, 2 | 4})
    void shouldFindNoObstacleInSealsOfLength(int seals) throws Throwable {
        try (MemoryFile file = sealed(seals)) {
            assertEquals(Optional.empty(), MemoryFile.obstacleToPunching(file.fd()));
            assertEquals(0, file.punchHole(0, 4096));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {8, 16, 16 | 2})
    void shouldNameSealsThatLetNoPageBeTakenOut(int seals) throws Throwable {
        try (MemoryFile file = sealed(seals)) {
            assertEquals(-EPERM, file.punchHole(0, 4096));
            assertTrue(MemoryFile.obstacleToPunching(file.fd()).orElseThrow().contains("is sealed against writing"));
        }
    }

    @Test
    void shouldNameADescriptorForReadingAlone() throws Throwable {
        try (MemoryFile file = MemoryFile.create("read", 4096);
                Arena arena = Arena.ofConfined()) {
            MemorySegment path = arena.allocateFrom("/proc/self/fd/" + file.fd());
            int fd = errno.require((int) open$mh.invokeExact(errno.segment(), path, 0), "open");
            try (MemoryFile forReading = MemoryFile.adopt(fd)) {
                assertEquals(-EBADF, forReading.punchHole(0, 4096));
                assertTrue(MemoryFile.obstacleToPunching(fd).orElseThrow().contains("open for reading alone"));
            }
        }
    }

    private MemoryFile sealed(int seals) throws Throwable {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment name = arena.allocateFrom("sealed");
            int fd = errno.require(
                    (int) memfd_create$mh.invokeExact(errno.segment(), name, MFD_ALLOW_SEALING), "memfd_create");
            assertEquals(0, (int) fcntl$mh.invokeExact(errno.segment(), fd, F_ADD_SEALS, seals));
            return MemoryFile.adopt(fd);
        }
    }
}
