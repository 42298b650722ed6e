package io.farpage.agent.control.pins;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.linux.Errno;
import io.farpage.linux.Libc;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;

/** Which protocol a socket of another process has, as the kernel says it in an extended attribute (getxattr(2)). */
final class SocketProtocol {
    private static final MethodHandle getxattr$mh =
            Libc.capturing("getxattr", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG));
    private static final MemorySegment NAME = Arena.global().allocateFrom("system.sockprotoname");
    private static final byte[] XDP = "XDP".getBytes(StandardCharsets.US_ASCII);
    private static final int MAX_PROTOCOL = 64;

    private SocketProtocol() {}

    /** Whether it is AF_XDP; false if the socket is gone. */
    static boolean isXdp(String descriptor) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment value = arena.allocate(MAX_PROTOCOL);
            long got = (long) getxattr$mh.invokeExact(
                    Errno.ofThread().segment(),
                    arena.allocateFrom(descriptor).address(),
                    NAME.address(),
                    value.address(),
                    value.byteSize());
            return got >= XDP.length
                    && MemorySegment.mismatch(value, 0, XDP.length, MemorySegment.ofArray(XDP), 0, XDP.length) == -1;
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }
}
