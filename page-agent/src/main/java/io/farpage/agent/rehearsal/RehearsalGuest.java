package io.farpage.agent.rehearsal;

import io.farpage.linux.Errno;
import io.farpage.linux.ErrnoName;
import io.farpage.linux.FileIo;
import io.farpage.linux.Memory;
import io.farpage.linux.SharedMemory;
import io.farpage.linux.Sockets;
import io.farpage.linux.SystemCall;
import io.farpage.linux.UnixSockets;
import io.farpage.linux.uffd.MemoryFile;
import io.farpage.linux.uffd.PagedAccess;
import io.farpage.linux.uffd.Userfaultfd;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * The guest of a {@link Rehearsal}, or of another one of this process: memory of this process, which an agent of this
 * process pages. One thread.
 */
public final class RehearsalGuest implements AutoCloseable {
    /** What VMMs ask for; the memory has to be evictable. */
    private static final long FEATURES = Userfaultfd.FEATURE_MISSING_SHMEM
            | Userfaultfd.FEATURE_PAGEFAULT_FLAG_WP
            | Userfaultfd.FEATURE_WP_HUGETLBFS_SHMEM
            | Userfaultfd.FEATURE_EVENT_REMOVE
            | Userfaultfd.FEATURE_EVENT_UNMAP
            | Userfaultfd.FEATURE_EVENT_REMAP;

    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final int PAGE = 4096;

    private final int pages;
    private final MemoryFile file;
    private final long address;
    private final Userfaultfd userfaultfd;
    private final Thread user =
            Thread.ofPlatform().daemon().name("rehearsal-guest").unstarted(this::touch);

    /** What was wrong with a page; empty if nothing was. */
    private volatile String problem = "";

    private RehearsalGuest(int pages, MemoryFile file, long address, Userfaultfd userfaultfd) {
        this.pages = pages;
        this.file = file;
        this.address = address;
        this.userfaultfd = userfaultfd;
    }

    /**
     * Makes memory and hands it over.
     *
     * @param socket of the agent
     * @throws IOException if the agent does not take it
     * @throws io.farpage.linux.PosixException if this user may not have a userfaultfd
     */
    public static RehearsalGuest handOver(Path socket, int pages) throws IOException {
        long bytes = (long) pages * PAGE;
        // A thread of this process waits for each page in native code, so no fault is raised in kernel mode.
        Userfaultfd userfaultfd = Userfaultfd.openForUserMode(FEATURES);
        MemoryFile file = MemoryFile.create("farpage-rehearsal", bytes);
        SystemCall mapped = SharedMemory.map(file.fd(), bytes);
        if (!mapped.succeeded()) {
            file.close();
            userfaultfd.close();
            throw new IOException("mmap of %d bytes: %s".formatted(bytes, mapped.error()));
        }
        RehearsalGuest guest = new RehearsalGuest(pages, file, mapped.value(), userfaultfd);
        try {
            guest.register(bytes);
            guest.send(socket, bytes);
            return guest;
        } catch (IOException | RuntimeException e) {
            guest.close();
            throw e;
        }
    }

    private void register(long bytes) throws IOException {
        int registered =
                userfaultfd.register(address, bytes, Userfaultfd.REGISTER_MODE_MISSING | Userfaultfd.REGISTER_MODE_WP);
        if (registered < 0) {
            throw new IOException("UFFDIO_REGISTER of %d bytes: %s".formatted(bytes, ErrnoName.of(-registered)));
        }
    }

    private void send(Path socket, long bytes) throws IOException {
        byte[] message = "[{\"base_host_virt_addr\":%s,\"size\":%d,\"offset\":0,\"page_size\":%d,\"page_size_kib\":%d}]"
                .formatted(Long.toUnsignedString(address), bytes, PAGE, PAGE)
                .getBytes(StandardCharsets.US_ASCII);
        Errno errno = Errno.create();
        int connection = Sockets.openUnix(errno);
        try (Arena arena = Arena.ofConfined()) {
            int connected = UnixSockets.connect(errno, connection, socket);
            long sent = connected < 0
                    ? connected
                    : UnixSockets.send(errno, connection, message, List.of(userfaultfd.fd(), file.fd()));
            if (sent != message.length) {
                throw new IOException("%s does not take the memory: %d".formatted(socket, sent));
            }
            // The agent closes the connection when it serves the memory, and says before why it does not.
            Sockets.setReceiveTimeout(errno, connection, PATIENCE);
            int length = UnixSockets.receive(errno, connection, arena.allocate(PAGE), 0)
                    .bytes();
            if (length != 0) {
                throw new IOException("%s does not serve the memory: %d".formatted(socket, length));
            }
        } finally {
            FileIo.close(errno, connection);
        }
    }

    /**
     * Writes to each page, then reads each. To be called once.
     *
     * @throws IOException if a page does not hold what was written to it, or does not come in time
     */
    public void use() throws IOException, InterruptedException {
        user.start();
        if (!user.join(PATIENCE)) {
            throw new IOException("not all of %d pages were served within %s".formatted(pages, PATIENCE));
        }
        if (!problem.isEmpty()) {
            throw new IOException(problem);
        }
    }

    private void touch() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment word = arena.allocate(ValueLayout.JAVA_LONG);
            for (long page = 0; page < pages; page++) {
                word.set(ValueLayout.JAVA_LONG, 0, ~page);
                PagedAccess.write(address + page * PAGE, word);
            }
            for (long page = 0; page < pages; page++) {
                PagedAccess.read(address + page * PAGE, word);
                long found = word.get(ValueLayout.JAVA_LONG, 0);
                if (found != ~page) {
                    problem = "page %d holds 0x%x".formatted(page, found);
                }
            }
        }
    }

    /**
     * The guest ends. The agent must still serve it. Memory with a page that is waited for stays until this process
     * ends.
     */
    @Override
    public void close() {
        if (!user.isAlive()) {
            Memory.munmap(address, (long) pages * PAGE);
        }
        file.close();
        userfaultfd.close();
    }
}
