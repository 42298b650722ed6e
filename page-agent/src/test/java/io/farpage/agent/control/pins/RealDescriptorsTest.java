package io.farpage.agent.control.pins;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.agent.control.pins.Finding.Kind;
import io.farpage.linux.Errno;
import io.farpage.linux.ErrnoName;
import io.farpage.linux.FileIo;
import io.farpage.linux.Libc;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** Descriptors of this process, as far as this kernel has what they belong to. */
final class RealDescriptorsTest {
    private static final int AF_INET = 2;
    private static final int AF_XDP = 44;
    private static final int SOCK_STREAM = 1;
    private static final int SOCK_RAW = 3;
    private static final int CLOEXEC = 0x80000;
    private static final int READ_WRITE = 2;
    private static final MethodHandle socket$mh =
            Libc.capturing("socket", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT));
    private static final MethodHandle open$mh =
            Libc.capturing("open", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT), 2);

    private final Errno errno = Errno.create();

    @Test
    void shouldKeepAllPagesWhenSocketIsAfXdp() {
        int socket = socket(AF_XDP, SOCK_RAW);
        assumeTrue(socket >= 0, "AF_XDP sockets cannot be opened: " + ErrnoName.of(-socket));
        Finding found = lookAndClose(socket);
        assertEquals(Kind.LASTING, found.kind(), found::toString);
        assertTrue(found.detail().contains("AF_XDP"), found::toString);
    }

    @Test
    void shouldFindNothingWhenSocketIsTcp() {
        Finding found = lookAndClose(socket(AF_INET, SOCK_STREAM));
        assertEquals(Kind.CLEAR, found.kind(), found::toString);
    }

    @Test
    void shouldKeepAllPagesWhenUdmabufIsOpen() {
        Finding found = lookAndClose(open("/dev/udmabuf"));
        assertEquals(Kind.LASTING, found.kind(), found::toString);
    }

    @Test
    void shouldKeepAllPagesWhenVfioIsOpen() {
        Finding found = lookAndClose(open("/dev/vfio/vfio"));
        assertEquals(Kind.LASTING, found.kind(), found::toString);
    }

    @Test
    void shouldKeepAllPagesWhenVerbsDeviceIsOpen() {
        Finding found = lookAndClose(open("/dev/infiniband/uverbs0"));
        assertEquals(Kind.LASTING, found.kind(), found::toString);
    }

    @Test
    void shouldFindNothingWhenVhostNetIsOpen() {
        Finding found = lookAndClose(open("/dev/vhost-net"));
        assertEquals(Kind.CLEAR, found.kind(), found::toString);
    }

    private int socket(int family, int type) {
        try {
            return errno.check((int) socket$mh.invokeExact(errno.segment(), family, type | CLOEXEC, 0));
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    private int open(String device) {
        assumeTrue(Files.exists(Path.of(device)), "there is no " + device);
        try (Arena arena = Arena.ofConfined()) {
            int fd = errno.check((int) open$mh.invokeExact(
                    errno.segment(), arena.allocateFrom(device).address(), READ_WRITE | CLOEXEC));
            assumeTrue(fd >= 0, device + " cannot be opened: " + ErrnoName.of(-fd));
            return fd;
        } catch (org.opentest4j.TestAbortedException e) {
            throw e;
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    private Finding lookAndClose(int fd) {
        int self = (int) ProcessHandle.current().pid();
        try (DescriptorTable table = DescriptorTable.open(self, "/proc/" + self, new ProcText())) {
            return table.scan(1);
        } finally {
            FileIo.close(errno, fd);
        }
    }
}
