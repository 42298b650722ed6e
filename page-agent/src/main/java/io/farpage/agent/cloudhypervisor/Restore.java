package io.farpage.agent.cloudhypervisor;

import java.io.EOFException;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.OptionalLong;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;

/**
 * One restore: sends configuration and state, and answers page faults until Cloud Hypervisor has all pages or ends. A
 * page that cannot be read is answered with an error, never with zeros.
 */
public final class Restore {
    /** Cloud Hypervisor asks for one page of the backing of a range; hugepages of 1 GiB are not served. */
    private static final int LONGEST = 2 << 20;

    private static final int RANGE = 2 * Long.BYTES;

    private final Snapshot snapshot;
    private final Path socket;
    private final Duration timeout;
    private final SpacePages pages;
    private final GuestRam ram;

    /**
     * A virtual machine that was saved.
     *
     * @param config the payload of {@code Config}: {@code migration_config.json}
     * @param state the payload of {@code State}: {@code state.json}
     * @param resume whether its guest runs at once
     */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    public record Snapshot(byte[] config, byte[] state, boolean resume) {}

    /**
     * Prepares a restore.
     *
     * @param socket on which Cloud Hypervisor waits to receive
     * @param timeout of each of its answers
     * @param pageSize of the space, bytes
     * @param spaceBytes size of the space
     * @throws IllegalArgumentException if the configuration is not valid, or its RAM is larger than the space
     */
    public Restore(Snapshot snapshot, Path socket, Duration timeout, PageSource source, int pageSize, long spaceBytes) {
        this.snapshot = snapshot;
        this.socket = socket;
        this.timeout = timeout;
        ram = GuestRam.of(snapshot.config());
        if (ram.size() > spaceBytes) {
            throw new IllegalArgumentException(
                    "the RAM of the virtual machine has %d bytes and the space %d; load a space of that size"
                            .formatted(ram.size(), spaceBytes));
        }
        pages = new SpacePages(source, pageSize);
    }

    /**
     * Runs it, on this thread, and serves faults on another one.
     *
     * @return how many faults were answered
     * @throws IOException saying which step failed, if it is not restored, or a fault could not be answered
     */
    public long run() throws IOException, InterruptedException {
        try (ScheduledExecutorService watch = Executors.newSingleThreadScheduledExecutor(
                        Thread.ofVirtual().name("restore-watch").factory());
                SocketChannel main = connect()) {
            Messages messages = new Messages(main);
            Deadline deadline = new Deadline(watch, main);
            ask(deadline, messages, Messages.START, "Start", new byte[0]);
            ask(deadline, messages, Messages.CONFIG, "Config", snapshot.config());
            try (SocketChannel faults = connect()) {
                Service service = new Service(faults);
                Thread thread =
                        Thread.ofPlatform().daemon().name("restore-faults").start(service);
                ask(deadline, messages, Messages.STATE, "State", snapshot.state());
                int last = snapshot.resume() ? Messages.COMPLETE : Messages.COMPLETE_PAUSED;
                ask(deadline, messages, last, "Complete", new byte[0]);
                thread.join();
                return service.result();
            }
        }
    }

    private SocketChannel connect() throws IOException {
        SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
        try {
            channel.connect(UnixDomainSocketAddress.of(socket));
            return channel;
        } catch (IOException e) {
            channel.close();
            throw new IOException(
                    ("Cloud Hypervisor does not listen on %s: %s; first have it receive: ch-remote receive-migration"
                                    + " receiver_url=unix:%s,memory_mode=postcopy")
                            .formatted(socket, e.getMessage(), socket),
                    e);
        }
    }

    private void ask(Deadline deadline, Messages messages, int command, String name, byte[] payload)
            throws IOException {
        Messages.Head answer;
        try (Deadline.Running running = deadline.begin()) {
            try {
                messages.send(command, payload);
                answer = messages.receive();
            } catch (IOException e) {
                String why = running.hasPassed() ? "no answer within " + timeout.toSeconds() + " s" : e.getMessage();
                throw new IOException(name + ": " + why + "; the log of Cloud Hypervisor says more", e);
            }
        }
        if (answer.code() != Messages.OK) {
            throw new IOException(
                    "%s: Cloud Hypervisor refused it (status %d); its log says why".formatted(name, answer.code()));
        }
        if (answer.length() != 0) {
            throw new IOException("%s: the answer has %d bytes where version 0 of the protocol has none"
                    .formatted(name, answer.length()));
        }
    }

    /** Closes a connection on which no answer comes. */
    private final class Deadline {
        private final ScheduledExecutorService watch;
        private final SocketChannel channel;

        Deadline(ScheduledExecutorService watch, SocketChannel channel) {
            this.watch = watch;
            this.channel = channel;
        }

        Running begin() {
            AtomicBoolean passed = new AtomicBoolean();
            Future<?> task = watch.schedule(() -> end(passed), timeout.toMillis(), TimeUnit.MILLISECONDS);
            return new Running(task, passed);
        }

        private void end(AtomicBoolean passed) {
            passed.set(true);
            try {
                channel.close();
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        }

        private record Running(Future<?> task, AtomicBoolean passed) implements AutoCloseable {
            boolean hasPassed() {
                return passed.get();
            }

            @Override
            public void close() {
                task.cancel(false);
            }
        }
    }

    /** Answers page faults. */
    private final class Service implements Runnable {
        private final SocketChannel channel;
        private final Messages messages;
        private final AtomicReference<IOException> failed = new AtomicReference<>();
        private volatile long served;

        Service(SocketChannel channel) throws IOException {
            this.channel = channel;
            messages = new Messages(channel);
            messages.announceFaults();
        }

        @Override
        public void run() {
            long count = 0;
            try {
                while (answer()) {
                    served = ++count;
                }
            } catch (EOFException | ClosedChannelException e) {
                // Cloud Hypervisor has all pages, or has ended; or the restore has failed, which is reported there.
                served = count;
            } catch (IOException e) {
                failed.set(e);
                end();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        private void end() {
            try {
                channel.close();
            } catch (IOException e) {
                failed.get().addSuppressed(e);
            }
        }

        private boolean answer() throws IOException, InterruptedException {
            Messages.Head head = messages.receive();
            if (head.code() == Messages.ABANDON) {
                messages.send(Messages.OK, new byte[0]);
                return false;
            }
            if (head.code() != Messages.PAGE_FAULT || head.length() != RANGE) {
                throw refused("command %d with %d bytes, where a page fault has command 9 and 16 bytes"
                        .formatted(head.code(), head.length()));
            }
            ByteBuffer range = messages.read(RANGE);
            long gpa = range.getLong();
            long length = range.getLong();
            OptionalLong offset = length > 0 && length <= LONGEST ? ram.offset(gpa, length) : OptionalLong.empty();
            if (offset.isEmpty()) {
                throw refused("a fault at address 0x%x of %d bytes, which is not in its RAM".formatted(gpa, length));
            }
            byte[] content;
            try {
                content = pages.read(offset.getAsLong(), (int) length);
            } catch (IOException e) {
                messages.send(Messages.ERROR, new byte[0]);
                throw new IOException(
                        "the page at address 0x%x could not be read, and its guest cannot go on: %s"
                                .formatted(gpa, e.getMessage()),
                        e);
            }
            messages.send(Messages.OK, content);
            return true;
        }

        private IOException refused(String what) throws IOException {
            messages.send(Messages.ERROR, new byte[0]);
            return new IOException("Cloud Hypervisor sent " + what + "; the connection is closed");
        }

        long result() throws IOException {
            IOException failure = failed.get();
            if (failure != null) {
                throw failure;
            }
            return served;
        }
    }
}
