package io.farpage.it.harness;

import io.farpage.it.deadlines.Deadlines;
import java.io.EOFException;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * Cloud Hypervisor as it receives a migration of mode postcopy without memory descriptors, written from
 * {@code vm-migration/src/protocol.rs}, {@code vmm/src/lib.rs} ({@code vm_receive_migration_step}) and
 * {@code vmm/src/uffd.rs} ({@code SocketUffdMemorySource}) of commit ae44c2971c83. It uses nothing of the code that is
 * tested. It faults while it restores the state, as devices do, then lets its guest run, and then asks for the rest of
 * the pages in their order. One connection for control, one for faults.
 */
public final class CloudHypervisorPeer implements AutoCloseable {
    /** What it may do other than to receive everything. */
    public enum Manner {
        RECEIVES,
        REFUSES_CONFIG,
        ENDS_AFTER_CONFIG,
        ENDS_IN_A_FAULT,
        ENDS_AFTER_HALF_OF_A_FAULT,
        NEVER_ANSWERS_STATE,
        SENDS_GARBAGE,
        FAULTS_OUTSIDE_ITS_RAM,
        ABANDONS
    }

    /** How its RAM is registered with its userfaultfd, and how it installs pages that arrive. */
    public enum Installs {
        /** Registered for missing pages, and filled by {@code UFFDIO_COPY}. */
        BY_COPY,
        /** Registered for minor faults, too: pages are written to the memory's file and then mapped. */
        BY_CONTINUE
    }

    /**
     * A range of RAM.
     *
     * @param gpa its address
     * @param pages how many
     * @param pageSize of its backing, bytes
     */
    public record Range(long gpa, int pages, int pageSize) {
        long bytes() {
            return (long) pages * pageSize;
        }
    }

    private final ServerSocketChannel listener;
    private final List<Range> ranges;
    private final Manner manner;
    private final @Nullable CloudHypervisorRam ram;
    private final List<byte[]> pages = new ArrayList<>();
    private final CompletableFuture<String> result = new CompletableFuture<>();
    private volatile String state = "";
    private volatile boolean resumed;

    /** Waits on a socket. It has no RAM to install pages in, and needs no userfaultfd. */
    public CloudHypervisorPeer(Path socket, List<Range> ranges, Manner manner) throws IOException {
        this(socket, ranges, manner, null);
    }

    /** Waits on a socket, with RAM that it installs pages in. */
    public CloudHypervisorPeer(Path socket, List<Range> ranges, Installs how) throws IOException {
        this(socket, ranges, Manner.RECEIVES, new CloudHypervisorRam(ranges, how));
    }

    private CloudHypervisorPeer(Path socket, List<Range> ranges, Manner manner, @Nullable CloudHypervisorRam ram)
            throws IOException {
        this.ram = ram;
        this.ranges = List.copyOf(ranges);
        this.manner = manner;
        listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        listener.bind(UnixDomainSocketAddress.of(socket));
        Thread.ofVirtual().name("cloud-hypervisor").start(this::run);
    }

    private void run() {
        try (SocketChannel main = listener.accept()) {
            result.complete(receive(main));
        } catch (IOException e) {
            result.complete(e instanceof EOFException ? "eof" : e.toString());
        }
    }

    private String receive(SocketChannel main) throws IOException {
        byte[] start = exactly(main, 16).array();
        require(start[0] == 1 && start[1] == 0, "Start");
        require(start[2] == 0 && start[3] == 0, "version 0");
        require(length(start) == 0, "Start has no payload");
        ok(main);
        byte[] config = payload(main, 2);
        require(config.length > 0, "Config has a payload");
        if (manner == Manner.REFUSES_CONFIG) {
            respond(main, 2, 0);
            return "refused";
        }
        ok(main);
        if (manner == Manner.ENDS_AFTER_CONFIG) {
            return "ended";
        }
        try (SocketChannel faults = listener.accept()) {
            ByteBuffer role = exactly(faults, 2);
            require(role.get(0) == 2 && role.get(1) == 0, "role Fault");
            return restore(main, faults);
        }
    }

    private String restore(SocketChannel main, SocketChannel faults) throws IOException {
        state = new String(payload(main, 3), StandardCharsets.UTF_8);
        Optional<String> over = misbehave(faults);
        if (over.isPresent()) {
            return over.get();
        }
        // A device reads its queue while its state is restored.
        byte[] first = fault(faults, ranges.getLast().gpa(), ranges.getLast().pageSize());
        long offset =
                ranges.stream().mapToLong(Range::bytes).sum() - ranges.getLast().bytes();
        install(offset, first);
        ok(main);
        byte[] complete = exactly(main, 16).array();
        require((complete[0] == 5 || complete[0] == 8) && complete[1] == 0 && length(complete) == 0, "Complete");
        resumed = complete[0] == 5;
        ok(main);
        offset = 0;
        for (Range range : ranges) {
            for (int page = 0; page < range.pages(); page++) {
                pages.add(fault(faults, range.gpa() + (long) page * range.pageSize(), range.pageSize()));
                install(offset, pages.getLast());
                offset += range.pageSize();
            }
        }
        int firstOfLast = pages.size() - ranges.getLast().pages();
        require(Arrays.equals(first, pages.get(firstOfLast)), "a page is the same twice");
        return "received";
    }

    private void install(long offset, byte[] page) throws IOException {
        if (ram != null) {
            ram.install(offset, page);
        }
    }

    private Optional<String> misbehave(SocketChannel faults) throws IOException {
        switch (manner) {
            case NEVER_ANSWERS_STATE -> {
                // The other side gives up and closes its connections.
                exactly(faults, 1);
            }
            case ENDS_IN_A_FAULT -> {
                send(
                        faults,
                        faultRequest(ranges.getFirst().gpa(), ranges.getFirst().pageSize()));
                return Optional.of("ended");
            }
            case ENDS_AFTER_HALF_OF_A_FAULT -> {
                send(faults, faultRequest(0, 4096).limit(20));
                return Optional.of("ended");
            }
            case SENDS_GARBAGE -> {
                send(faults, ByteBuffer.wrap("GET / HTTP/1.1\r\nHost: x\r\n\r\n".getBytes(StandardCharsets.UTF_8)));
                return Optional.of("status " + exactly(faults, 16).get(0));
            }
            case FAULTS_OUTSIDE_ITS_RAM -> {
                send(faults, faultRequest(1L << 40, 4096));
                return Optional.of("status " + exactly(faults, 16).get(0));
            }
            case ABANDONS -> {
                send(faults, head(6, 0));
                return Optional.of("status " + exactly(faults, 16).get(0));
            }
            case RECEIVES, REFUSES_CONFIG, ENDS_AFTER_CONFIG -> {}
        }
        return Optional.empty();
    }

    private static byte[] fault(SocketChannel faults, long gpa, int pageSize) throws IOException {
        send(faults, faultRequest(gpa, pageSize));
        byte[] response = exactly(faults, 16).array();
        require(response[1] == 0, "status");
        if (response[0] != 1) {
            throw new IOException("peer returned status %d for PageFault at gpa=0x%x".formatted(response[0], gpa));
        }
        require(length(response) == pageSize, "an inline response has as many bytes as were asked for");
        return exactly(faults, pageSize).array();
    }

    private static ByteBuffer faultRequest(long gpa, long length) {
        return ByteBuffer.allocate(32)
                .order(ByteOrder.LITTLE_ENDIAN)
                .put(head(9, 16))
                .putLong(gpa)
                .putLong(length)
                .flip();
    }

    private static ByteBuffer head(int command, long length) {
        ByteBuffer head = ByteBuffer.allocate(16).order(ByteOrder.LITTLE_ENDIAN);
        head.putShort(0, (short) command);
        head.putLong(8, length);
        return head;
    }

    private static byte[] payload(SocketChannel channel, int command) throws IOException {
        byte[] head = exactly(channel, 16).array();
        require(head[0] == command && head[1] == 0, "command " + command + ", not " + head[0]);
        return exactly(channel, Math.toIntExact(length(head))).array();
    }

    private static long length(byte[] head) {
        return ByteBuffer.wrap(head).order(ByteOrder.LITTLE_ENDIAN).getLong(8);
    }

    private static void ok(SocketChannel channel) throws IOException {
        respond(channel, 1, 0);
    }

    private static void respond(SocketChannel channel, int status, long length) throws IOException {
        send(channel, head(status, length));
    }

    private static void send(SocketChannel channel, ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            channel.write(bytes);
        }
    }

    private static ByteBuffer exactly(SocketChannel channel, int bytes) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(bytes);
        while (buffer.hasRemaining()) {
            if (channel.read(buffer) < 0) {
                throw new EOFException();
            }
        }
        return buffer.flip();
    }

    private static void require(boolean holds, String what) throws IOException {
        if (!holds) {
            throw new IOException("not as the protocol has it: " + what);
        }
    }

    /** How it ended: {@code received}, or why not. Waits for that. */
    public String result() throws InterruptedException, ExecutionException {
        return Deadlines.get("the end of the restore", Duration.ofSeconds(60), result);
    }

    /** The content of all pages, in the order of their addresses, once it has received. */
    public List<byte[]> pages() {
        return pages;
    }

    /** What its guest has in its RAM, once it has received. */
    public byte[] ram() {
        return Objects.requireNonNull(ram).content();
    }

    /** The state that it restored. */
    public String state() {
        return state;
    }

    /** Whether its guest runs. */
    public boolean isResumed() {
        return resumed;
    }

    @Override
    public void close() throws IOException {
        listener.close();
        if (ram != null) {
            ram.close();
        }
    }
}
