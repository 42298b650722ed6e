package io.farpage.linux;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * Descriptors that new connections leave free, so that connections which take all others do not stop what runs: a fork
 * of a guest's VMM brings a userfaultfd, a link needs a socket, and a class that is used for the first time is read
 * from a file.
 *
 * <p>The kernel gives each new descriptor the lowest number that is free. The highest numbers below RLIMIT_NOFILE are
 * therefore given out last, and these are the reserve: a connection whose number lies among them is refused.
 * Thread-safe.
 */
public final class DescriptorReserve {
    /** Descriptors that connections of people and of new guests leave free. */
    public static final int ORDINARY = 64;
    /**
     * Descriptors that connections of peers leave free. Fewer, so that links come up while no other connection is
     * taken.
     */
    public static final int LINKS = 32;

    /** A reserve takes no more than this part of the limit. */
    private static final int SMALLEST_SHARE = 8;

    private static final int RLIMIT_NOFILE = 7;
    private static final MethodHandle getrlimit$mh =
            Libc.capturing("getrlimit", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG));

    private DescriptorReserve() {}

    /**
     * The soft limit of descriptors (RLIMIT_NOFILE). The JVM raises it to the hard limit at its start, and it can be
     * changed at any time (prlimit(1)).
     */
    public static long limit() {
        try (Arena arena = Arena.ofConfined()) {
            Errno errno = Errno.ofThread();
            MemorySegment limits = arena.allocate(JAVA_LONG, 2);
            errno.require(
                    (int) getrlimit$mh.invokeExact(errno.segment(), RLIMIT_NOFILE, limits.address()), "getrlimit");
            return Long.compareUnsigned(limits.get(JAVA_LONG, 0), Integer.MAX_VALUE) > 0
                    ? Integer.MAX_VALUE
                    : limits.get(JAVA_LONG, 0);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /**
     * Whether a new descriptor lies in the reserve, so that its owner should close it.
     *
     * @param descriptor that was just made
     * @param reserve how many descriptors are to stay free; an eighth of the limit at most
     */
    public static boolean contains(int descriptor, int reserve) {
        return contains(descriptor, reserve, limit());
    }

    static boolean contains(int descriptor, int reserve, long limit) {
        return descriptor >= limit - Math.min(reserve, limit / SMALLEST_SHARE);
    }

    /**
     * Whether the next descriptor would not lie in the reserve. Makes a descriptor and closes it.
     *
     * @param reserve how many descriptors are to stay free; an eighth of the limit at most
     */
    public static boolean leavesRoom(int reserve) {
        try (EventFd probe = new EventFd()) {
            return !contains(probe.fd(), reserve);
        } catch (PosixException e) {
            return false;
        }
    }
}
