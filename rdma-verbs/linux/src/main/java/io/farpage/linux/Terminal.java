package io.farpage.linux;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.OptionalInt;

/** What a descriptor says of the terminal that it leads to. Thread-safe. */
public final class Terminal {
    private static final long TIOCGWINSZ = 0x5413;

    /** Size of struct winsize: four unsigned shorts; the second is ws_col. */
    private static final int WINSIZE_BYTES = 8;

    private static final int WS_COL = 2;

    private static final MethodHandle ioctl$mh =
            Libc.capturing("ioctl", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG), 2);

    private Terminal() {}

    /**
     * Columns of the terminal that a descriptor leads to (TIOCGWINSZ, ioctl_tty(2)).
     *
     * @return empty if the descriptor leads to no terminal; 0 if the terminal does not tell, as a serial line does
     */
    public static OptionalInt columns(int fd) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment size = arena.allocate(WINSIZE_BYTES, JAVA_LONG.byteAlignment());
            Errno errno = Errno.ofThread();
            // SAFETY: the kernel writes one struct winsize, for which there is room until the arena is closed.
            int result = errno.check((int) ioctl$mh.invokeExact(errno.segment(), fd, TIOCGWINSZ, size.address()));
            return result < 0 ? OptionalInt.empty() : OptionalInt.of(Short.toUnsignedInt(size.get(JAVA_SHORT, WS_COL)));
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }
}
