package io.farpage.bench.vmm;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.farpage.agent.uffd.Userfaultfd;
import io.farpage.bench.process.BenchException;
import io.farpage.posix.Errno;
import io.farpage.posix.ErrnoName;
import io.farpage.posix.FileIo;
import io.farpage.posix.Libc;
import io.farpage.posix.Message;
import io.farpage.posix.PosixException;
import io.farpage.posix.SocketIo;
import io.farpage.posix.Sockets;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Guest memory whose faults an agent resolves: registered with a userfaultfd, which the agent was sent over its Unix socket as Firecracker
 * sends it, with the memfd behind the memory where there is one. Both the userfaultfd and the connection stay open until closed: if the
 * agent had the only descriptor, its end would make the kernel fill missing pages with zeros.
 */
public final class Handoff implements AutoCloseable {
    private static final long FEATURES = Userfaultfd.FEATURE_MISSING_SHMEM
            | Userfaultfd.FEATURE_PAGEFAULT_FLAG_WP
            | Userfaultfd.FEATURE_WP_HUGETLBFS_SHMEM
            | Userfaultfd.FEATURE_EVENT_REMOVE
            | Userfaultfd.FEATURE_EVENT_UNMAP
            | Userfaultfd.FEATURE_EVENT_REMAP;
    private static final int SOL_SOCKET = 1;
    private static final int SCM_RIGHTS = 1;
    private static final int UNIX_PATH_MAX = 108;
    private static final int CMSG_HEADER = 16;

    private static final MethodHandle connect$mh =
            Libc.capturing("connect", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_INT));

    private final Errno errno;
    private final Userfaultfd userfaultfd;
    private final int connection;

    private Handoff(Errno errno, Userfaultfd userfaultfd, int connection) {
        this.errno = errno;
        this.userfaultfd = userfaultfd;
        this.connection = connection;
    }

    /**
     * Registers the memory and hands it over.
     *
     * @throws BenchException if no agent listens there or the memory cannot be registered
     */
    public static Handoff of(GuestMemory memory, Path socket) {
        Errno errno = Errno.create();
        int connection = connect(errno, socket);
        try {
            Userfaultfd userfaultfd = Userfaultfd.open(FEATURES);
            try {
                int registered = userfaultfd.register(
                        memory.address(),
                        memory.bytes(),
                        Userfaultfd.REGISTER_MODE_MISSING | Userfaultfd.REGISTER_MODE_WP);
                if (registered < 0) {
                    throw new BenchException(
                            "UFFDIO_REGISTER of " + memory.bytes() + " bytes: " + ErrnoName.of(-registered));
                }
                List<Integer> descriptors = new ArrayList<>(List.of(userfaultfd.fd()));
                memory.file().ifPresent(file -> descriptors.add(file.fd()));
                send(errno, connection, json(memory), descriptors);
                return new Handoff(errno, userfaultfd, connection);
            } catch (RuntimeException e) {
                userfaultfd.close();
                throw e;
            }
        } catch (PosixException e) {
            FileIo.close(errno, connection);
            throw new BenchException(
                    e.getMessage()
                            + (e.errno() == Errno.EPERM
                                    ? "; allow it with sysctl vm.unprivileged_userfaultfd=1 or CAP_SYS_PTRACE"
                                    : ""),
                    e);
        } catch (RuntimeException e) {
            FileIo.close(errno, connection);
            throw e;
        }
    }

    private static String json(GuestMemory memory) {
        return "[{\"base_host_virt_addr\":%s,\"size\":%d,\"offset\":0,\"page_size\":%d,\"page_size_kib\":%d}]"
                .formatted(
                        Long.toUnsignedString(memory.address()),
                        memory.bytes(),
                        PageRange.PAGE_BYTES,
                        PageRange.PAGE_BYTES);
    }

    private static int connect(Errno errno, Path socket) {
        byte[] path = socket.toString().getBytes(StandardCharsets.UTF_8);
        if (path.length >= UNIX_PATH_MAX) {
            throw new BenchException("'" + socket + "' is too long for a socket's path, which has at most "
                    + (UNIX_PATH_MAX - 1) + " bytes");
        }
        int fd = Sockets.openUnix(errno);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment address = arena.allocate(Short.BYTES + UNIX_PATH_MAX, 2);
            address.set(JAVA_SHORT, 0, (short) Sockets.AF_UNIX);
            MemorySegment.copy(path, 0, address, JAVA_BYTE, Short.BYTES, path.length);
            // SAFETY: a struct sockaddr_un that lives until after the call.
            int result = errno.check(
                    (int) connect$mh.invokeExact(errno.segment(), fd, address.address(), (int) address.byteSize()));
            if (result < 0) {
                FileIo.close(errno, fd);
                throw new BenchException(refusal(socket, -result));
            }
            return fd;
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    private static String refusal(Path socket, int errno) {
        return errno == Errno.EACCES
                ? socket + ": EACCES; let this user write to the socket and search its directories"
                : "no agent listens at " + socket + ": " + ErrnoName.of(errno)
                        + "; run: page-agent attach --space NAME --socket " + socket + " ...";
    }

    private static void send(Errno errno, int connection, String json, List<Integer> descriptors) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocateFrom(json, StandardCharsets.US_ASCII);
            long used = CMSG_HEADER + (long) descriptors.size() * Integer.BYTES;
            MemorySegment control = arena.allocate((used + 7) / 8 * 8, 8);
            control.set(JAVA_LONG, 0, used);
            control.set(JAVA_INT, 8, SOL_SOCKET);
            control.set(JAVA_INT, 12, SCM_RIGHTS);
            for (int i = 0; i < descriptors.size(); i++) {
                control.set(JAVA_INT, CMSG_HEADER + (long) i * Integer.BYTES, descriptors.get(i));
            }
            Message message = new Message(1);
            message.add(text.address(), json.length());
            message.control(control.address(), control.byteSize());
            long sent = SocketIo.sendmsg(errno, connection, message, 0);
            if (sent != json.length()) {
                throw new BenchException("sendmsg to the agent: "
                        + (sent < 0 ? ErrnoName.of((int) -sent) : "it took only part of the message"));
            }
        }
    }

    /** Takes the registration back unless the agent still has the userfaultfd. */
    @Override
    public void close() {
        userfaultfd.close();
        FileIo.close(errno, connection);
    }
}
