package io.farpage.guest.vmm;

import io.farpage.guest.command.CommandException;
import io.farpage.linux.Errno;
import io.farpage.linux.ErrnoName;
import io.farpage.linux.FileIo;
import io.farpage.linux.PosixException;
import io.farpage.linux.Sockets;
import io.farpage.linux.UnixSockets;
import io.farpage.linux.uffd.Userfaultfd;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Guest memory whose faults an agent resolves: registered with a userfaultfd, which the agent was sent over its Unix
 * socket as Firecracker sends it, with the memfd behind the memory where there is one; or with several userfaultfds,
 * each for a part of it, so that several of the agent's threads may serve it. They stay open until closed: if the agent
 * had the only descriptor, its end would make the kernel fill missing pages with zeros.
 */
public final class Handoff implements AutoCloseable {
    /** Features of userfaultfd that the memory of a guest needs. */
    public static final long FEATURES = Userfaultfd.FEATURE_MISSING_SHMEM
            | Userfaultfd.FEATURE_MISSING_HUGETLBFS
            | Userfaultfd.FEATURE_PAGEFAULT_FLAG_WP
            | Userfaultfd.FEATURE_WP_HUGETLBFS_SHMEM
            | Userfaultfd.FEATURE_EVENT_REMOVE
            | Userfaultfd.FEATURE_EVENT_UNMAP
            | Userfaultfd.FEATURE_EVENT_REMAP;

    private static final Duration TIMEOUT = Duration.ofMinutes(2);
    private static final int MAX_REASON = 4096;

    /** Userfaultfds that an agent takes from one guest. */
    public static final int MAX_USERFAULTFDS = 16;

    private final List<Userfaultfd> userfaultfds;

    private Handoff(List<Userfaultfd> userfaultfds) {
        this.userfaultfds = userfaultfds;
    }

    /** Registers the memory with one userfaultfd and hands it over; see {@link #of(GuestMemory, Path, int)}. */
    public static Handoff of(GuestMemory memory, Path socket) {
        return of(memory, socket, 1);
    }

    /**
     * Registers the memory and hands it over.
     *
     * @param count of userfaultfds, 1 to {@link #MAX_USERFAULTFDS}, and not more than there are pages
     * @throws CommandException if no agent listens there, the memory cannot be registered, or the agent refuses it
     */
    public static Handoff of(GuestMemory memory, Path socket, int count) {
        if (count < 1 || count > MAX_USERFAULTFDS || count > pages(memory)) {
            throw new CommandException("%d userfaultfds; 1 to %d are allowed, and not more than there are pages"
                    .formatted(count, MAX_USERFAULTFDS));
        }
        Errno errno = Errno.create();
        int connection = connect(errno, socket);
        try {
            Handoff handoff = new Handoff(new ArrayList<>());
            try {
                List<Integer> descriptors = new ArrayList<>();
                for (int i = 0; i < count; i++) {
                    descriptors.add(handoff.register(memory, PageRange.share(pages(memory), i, count)));
                }
                memory.file().ifPresent(file -> descriptors.add(file.fd()));
                send(errno, connection, json(memory, count), descriptors);
                awaitTaken(errno, connection, socket);
                return handoff;
            } catch (RuntimeException e) {
                handoff.close();
                throw e;
            }
        } catch (PosixException e) {
            throw new CommandException(
                    e.getMessage()
                            + (e.errno() == Errno.EPERM
                                    ? "; allow one of: setfacl -m u:USER:rw /dev/userfaultfd,"
                                            + " sysctl vm.unprivileged_userfaultfd=1, CAP_SYS_PTRACE"
                                    : ""),
                    e);
        } finally {
            FileIo.close(errno, connection);
        }
    }

    private static long pages(GuestMemory memory) {
        return memory.bytes() / memory.pageBytes();
    }

    /** Opens a userfaultfd and registers a part of the memory with it. Returns its descriptor. */
    private int register(GuestMemory memory, PageRange part) {
        Userfaultfd userfaultfd = Userfaultfd.open(FEATURES);
        userfaultfds.add(userfaultfd);
        long bytes = part.count() * memory.pageBytes();
        int registered = userfaultfd.register(
                memory.address() + part.first() * memory.pageBytes(),
                bytes,
                Userfaultfd.REGISTER_MODE_MISSING | Userfaultfd.REGISTER_MODE_WP);
        if (registered < 0) {
            throw new CommandException("UFFDIO_REGISTER of " + bytes + " bytes: " + ErrnoName.of(-registered));
        }
        return userfaultfd.fd();
    }

    private static String json(GuestMemory memory, int count) {
        StringBuilder json = new StringBuilder("[");
        for (int i = 0; i < count; i++) {
            PageRange part = PageRange.share(pages(memory), i, count);
            long offset = part.first() * memory.pageBytes();
            json.append(
                    "%s{\"base_host_virt_addr\":%s,\"size\":%d,\"offset\":%d,\"page_size\":%d,\"page_size_kib\":%d%s}"
                            .formatted(
                                    i == 0 ? "" : ",",
                                    Long.toUnsignedString(memory.address() + offset),
                                    part.count() * memory.pageBytes(),
                                    offset,
                                    memory.pageBytes(),
                                    memory.pageBytes(),
                                    count == 1 ? "" : ",\"userfaultfd\":" + i));
        }
        return json.append(']').toString();
    }

    private static int connect(Errno errno, Path socket) {
        int fd = Sockets.openUnix(errno);
        try {
            int result = UnixSockets.connect(errno, fd, socket);
            if (result < 0) {
                throw new CommandException(refusal(socket, -result));
            }
            return fd;
        } catch (IllegalArgumentException e) {
            FileIo.close(errno, fd);
            throw new CommandException(String.valueOf(e.getMessage()), e);
        } catch (CommandException e) {
            FileIo.close(errno, fd);
            throw e;
        }
    }

    private static String refusal(Path socket, int errno) {
        return errno == Errno.EACCES
                ? socket + ": EACCES; let this user write to the socket and search its directories"
                : "no agent listens at " + socket + ": " + ErrnoName.of(errno)
                        + "; run: page-agent attach --space NAME --socket " + socket + " ...";
    }

    private static void send(Errno errno, int connection, String json, List<Integer> descriptors) {
        byte[] text = json.getBytes(StandardCharsets.US_ASCII);
        long sent = UnixSockets.send(errno, connection, text, descriptors);
        if (sent != text.length) {
            throw new CommandException("sendmsg to the agent: "
                    + (sent < 0 ? ErrnoName.of((int) -sent) : "it took only part of the message"));
        }
    }

    /** The agent closes the connection when it has taken the memory; otherwise it says first why not. */
    private static void awaitTaken(Errno errno, int connection, Path socket) {
        Sockets.setReceiveTimeout(errno, connection, TIMEOUT);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment reason = arena.allocate(MAX_REASON);
            int length = UnixSockets.receive(errno, connection, reason, 0).bytes();
            if (length < 0) {
                throw new CommandException("no answer from the agent at " + socket + ": " + ErrnoName.of(-length));
            }
            if (length > 0) {
                byte[] text = reason.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE);
                throw new CommandException("the agent at " + socket + " refused the memory: "
                        + new String(text, StandardCharsets.UTF_8).strip());
            }
        }
    }

    /** Takes the registrations back unless the agent still has the userfaultfds. */
    @Override
    public void close() {
        userfaultfds.forEach(Userfaultfd::close);
    }
}
