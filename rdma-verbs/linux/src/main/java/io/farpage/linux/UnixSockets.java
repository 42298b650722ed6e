package io.farpage.linux;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/** Unix stream sockets by path, and descriptors passed through them (unix(7), cmsg(3)): the control path. */
public final class UnixSockets {
    /** Bytes of a path at most, without its terminating zero. */
    public static final int MAX_PATH = 107;

    private static final int ADDRESS_SIZE = 110;
    private static final int SOL_SOCKET = 1;
    private static final int SO_PEERCRED = 17;
    private static final int SO_PEERGROUPS = 59;
    /** NGROUPS_MAX of the kernel. */
    private static final int MAX_GROUPS = 65_536;

    private static final int SCM_RIGHTS = 1;
    private static final int UCRED_SIZE = 12;
    private static final int CONTROL_HEADER = 16;

    private static final MethodHandle bind$mh =
            Libc.capturing("bind", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_INT));
    private static final MethodHandle fchmod$mh =
            Libc.capturing("fchmod", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT));
    private static final MethodHandle connect$mh =
            Libc.capturing("connect", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_INT));
    private static final MethodHandle getsockopt$mh = Libc.capturing(
            "getsockopt", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG));

    private UnixSockets() {}

    /**
     * Binds to a path that does not exist yet, which creates it.
     *
     * @throws PosixException naming the path, if that cannot be
     * @throws IllegalArgumentException if the path is too long
     */
    public static void bind(Errno errno, int fd, Path path) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment address = encode(path, arena);
            int result = (int) bind$mh.invokeExact(errno.segment(), fd, address.address(), ADDRESS_SIZE);
            errno.require(result, "bind(" + path + ")");
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /**
     * As {@link #bind(Errno, int, Path)}, creating the path with permissions. bind(2) takes them from the socket's own
     * inode, less the umask, so that the path never has others.
     *
     * @param mode permission bits, such as 0600
     */
    public static void bind(Errno errno, int fd, Path path, int mode) {
        try {
            errno.require((int) fchmod$mh.invokeExact(errno.segment(), fd, mode), "fchmod(socket)");
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
        bind(errno, fd, path);
    }

    /** Connects to the socket that listens at a path; 0, or a negative error number. */
    public static int connect(Errno errno, int fd, Path path) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment address = encode(path, arena);
            return errno.check((int) connect$mh.invokeExact(errno.segment(), fd, address.address(), ADDRESS_SIZE));
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    private static MemorySegment encode(Path path, Arena arena) {
        byte[] bytes = path.toString().getBytes(StandardCharsets.UTF_8);
        if (bytes.length == 0 || bytes.length > MAX_PATH) {
            throw new IllegalArgumentException(
                    "socket path '" + path + "' has " + bytes.length + " bytes; 1 to " + MAX_PATH + " are allowed");
        }
        MemorySegment address = arena.allocate(ADDRESS_SIZE, 8);
        address.set(JAVA_SHORT, 0, (short) Sockets.AF_UNIX);
        MemorySegment.copy(bytes, 0, address, JAVA_BYTE, 2, bytes.length);
        return address;
    }

    /**
     * A process at the other end of a connection, as it was when it connected.
     *
     * @param pid its id
     * @param user its effective user id
     * @param group its effective group id
     * @param groups that and its supplementary ones
     */
    public record Credentials(int pid, int user, int group, Set<Integer> groups) {}

    /** The process at the other end of a connection (SO_PEERCRED and SO_PEERGROUPS, unix(7)). */
    public static Credentials peer(Errno errno, int fd) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment credentials = arena.allocate(UCRED_SIZE, 8);
            MemorySegment length = arena.allocateFrom(JAVA_INT, UCRED_SIZE);
            int result = (int) getsockopt$mh.invokeExact(
                    errno.segment(), fd, SOL_SOCKET, SO_PEERCRED, credentials.address(), length.address());
            errno.require(result, "getsockopt(SO_PEERCRED)");
            MemorySegment groups = arena.allocate(MAX_GROUPS * JAVA_INT.byteSize(), 8);
            length.set(JAVA_INT, 0, (int) groups.byteSize());
            result = (int) getsockopt$mh.invokeExact(
                    errno.segment(), fd, SOL_SOCKET, SO_PEERGROUPS, groups.address(), length.address());
            errno.require(result, "getsockopt(SO_PEERGROUPS)");
            Set<Integer> all = new TreeSet<>();
            int group = credentials.get(JAVA_INT, 8);
            all.add(group);
            for (long at = 0; at < length.get(JAVA_INT, 0); at += JAVA_INT.byteSize()) {
                all.add(groups.get(JAVA_INT, at));
            }
            return new Credentials(credentials.get(JAVA_INT, 0), credentials.get(JAVA_INT, 4), group, Set.copyOf(all));
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /**
     * The result of one receive.
     *
     * @param bytes received, 0 at the end of the stream, or a negative error number
     * @param descriptors that came with them; the receiver's to close
     */
    public record Received(int bytes, List<Integer> descriptors) {}

    /**
     * Receives bytes and the descriptors that come with them, which are closed on exec.
     *
     * @param maxDescriptors the kernel drops what is above
     */
    public static Received receive(Errno errno, int fd, MemorySegment into, int maxDescriptors) {
        try (Arena arena = Arena.ofConfined()) {
            long controlBytes = CONTROL_HEADER + align(maxDescriptors * Integer.BYTES);
            MemorySegment control = arena.allocate(controlBytes, 8);
            Message message = new Message(1);
            message.add(into.address(), into.byteSize());
            message.control(control.address(), controlBytes);
            long bytes = SocketIo.recvmsg(errno, fd, message, SocketIo.MSG_CMSG_CLOEXEC);
            return new Received((int) bytes, bytes < 0 ? List.of() : descriptors(control, message.controlLength()));
        }
    }

    /**
     * Copies bytes that have arrived, which stay to be received. Descriptors that come with them stay, too.
     *
     * @return how many bytes, 0 at the end of the stream, or a negative error number
     */
    public static int peek(Errno errno, int fd, MemorySegment into) {
        return (int) SocketIo.recv(errno, fd, into.address(), into.byteSize(), SocketIo.MSG_PEEK);
    }

    private static long align(int bytes) {
        return (bytes + 7L) & ~7L;
    }

    /** {@code struct cmsghdr { size_t cmsg_len; int cmsg_level; int cmsg_type; }}, then the descriptors. */
    private static List<Integer> descriptors(MemorySegment control, long length) {
        List<Integer> descriptors = new ArrayList<>();
        if (length >= CONTROL_HEADER
                && control.get(JAVA_INT, 8) == SOL_SOCKET
                && control.get(JAVA_INT, 12) == SCM_RIGHTS) {
            for (long at = CONTROL_HEADER; at + Integer.BYTES <= control.get(JAVA_LONG, 0); at += Integer.BYTES) {
                descriptors.add(control.get(JAVA_INT, at));
            }
        }
        return descriptors;
    }

    /** Sends bytes and descriptors with them. Returns bytes sent, or a negative error number. */
    public static long send(Errno errno, int fd, byte[] bytes, List<Integer> descriptors) {
        try (Arena arena = Arena.ofConfined()) {
            int payload = descriptors.size() * Integer.BYTES;
            MemorySegment control = arena.allocate(CONTROL_HEADER + align(payload), 8);
            control.set(JAVA_LONG, 0, CONTROL_HEADER + payload);
            control.set(JAVA_INT, 8, SOL_SOCKET);
            control.set(JAVA_INT, 12, SCM_RIGHTS);
            for (int i = 0; i < descriptors.size(); i++) {
                control.set(JAVA_INT, CONTROL_HEADER + (long) i * Integer.BYTES, descriptors.get(i));
            }
            MemorySegment data = arena.allocateFrom(JAVA_BYTE, bytes);
            Message message = new Message(1);
            message.add(data.address(), bytes.length);
            message.control(
                    descriptors.isEmpty() ? 0 : control.address(), descriptors.isEmpty() ? 0 : control.byteSize());
            return SocketIo.sendmsg(errno, fd, message, 0);
        }
    }
}
