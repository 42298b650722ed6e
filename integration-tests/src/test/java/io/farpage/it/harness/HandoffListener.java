package io.farpage.it.harness;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.Sockets;
import io.farpage.linux.UnixSockets;
import io.farpage.linux.uffd.MemoryFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The listening end of a VMM's handoff, for tests that look at what comes through it. Used by one thread. */
public final class HandoffListener implements AutoCloseable {
    private static final int MAX_BYTES = 4096;
    private static final int MAX_DESCRIPTORS = 32;
    private static final Duration TIMEOUT = Duration.ofSeconds(20);

    private final Errno errno = Errno.create();
    private final int listening;

    /**
     * What a VMM sent in its one message.
     *
     * @param json the text
     * @param descriptors received with it
     */
    public record Received(String json, List<Integer> descriptors) {
        private static final Pattern ONE_REGION =
                Pattern.compile("\\[\\{\"base_host_virt_addr\":(\\d+),\"size\":(\\d+),"
                        + "\"offset\":0,\"page_size\":4096,\"page_size_kib\":4096}]");

        public Received {
            descriptors = List.copyOf(descriptors);
        }

        private static final Pattern PART =
                Pattern.compile("\\{\"base_host_virt_addr\":(\\d+),\"size\":(\\d+),\"offset\":(\\d+),"
                        + "\"page_size\":4096,\"page_size_kib\":4096,\"userfaultfd\":(\\d+)}");

        /**
         * Pages it, as regions that follow one another and together have {@code pages} pages, each with a userfaultfd,
         * and the memfd.
         */
        public Parts pageParts(int pages) {
            List<TinyPager> pagers = new ArrayList<>();
            MemoryFile file = MemoryFile.adopt(descriptors.getLast());
            long end = 0;
            for (Matcher part = PART.matcher(json); part.find(); ) {
                long bytes = Long.parseLong(part.group(2));
                if (Long.parseLong(part.group(3)) != end || Integer.parseInt(part.group(4)) != pagers.size()) {
                    throw new AssertionError("not one part after the other: " + this);
                }
                pagers.add(new TinyPager(
                        descriptors.get(pagers.size()),
                        Optional.of(file.from(end)),
                        Long.parseLong(part.group(1)),
                        (int) (end / 4096),
                        (int) (bytes / 4096)));
                end += bytes;
            }
            if (end != pages * 4096L || descriptors.size() != pagers.size() + 1) {
                throw new AssertionError("not " + pages + " pages, and a memfd: " + this);
            }
            return new Parts(pagers, file);
        }

        /** Pages it, as one region of {@code pages} pages with {@code count} descriptors, or fails the test. */
        public TinyPager page(int pages, int count) {
            Matcher region = ONE_REGION.matcher(json);
            if (!region.matches() || Long.parseLong(region.group(2)) != pages * 4096L || descriptors.size() != count) {
                throw new AssertionError(
                        "not one region of " + pages + " pages and " + count + " descriptors: " + this);
            }
            return new TinyPager(
                    descriptors.getFirst(),
                    descriptors.stream().skip(1).findFirst().map(MemoryFile::adopt),
                    Long.parseLong(region.group(1)),
                    0,
                    pages);
        }
    }

    /**
     * Memory in parts, each with a pager.
     *
     * @param file behind all of it
     */
    public record Parts(List<TinyPager> pagers, MemoryFile file) implements AutoCloseable {
        @Override
        public void close() {
            pagers.forEach(TinyPager::close);
            file.close();
        }
    }

    /** Binds and listens. */
    public HandoffListener(Path socket) {
        listening = Sockets.openUnix(errno);
        UnixSockets.bind(errno, listening, socket);
        Sockets.listen(errno, listening, 1);
        Sockets.setReceiveTimeout(errno, listening, Deadlines.of(TIMEOUT));
    }

    /** Waits for a VMM and its message, and takes it: the connection is closed without a word. */
    public Received receive() {
        return receive("");
    }

    /** Waits for a VMM and its message, and refuses it. */
    public void refuse(String reason) {
        receive(reason + "\n").descriptors().forEach(fd -> FileIo.close(errno, fd));
    }

    private Received receive(String answer) {
        int connection = Sockets.accept(errno, listening, 0);
        if (connection < 0) {
            throw new AssertionError("no process connected: error " + -connection);
        }
        try (Arena arena = Arena.ofConfined()) {
            Sockets.setReceiveTimeout(errno, connection, Deadlines.of(TIMEOUT));
            MemorySegment text = arena.allocate(MAX_BYTES);
            UnixSockets.Received received = UnixSockets.receive(errno, connection, text, MAX_DESCRIPTORS);
            if (received.bytes() <= 0) {
                throw new AssertionError("no message came: " + received.bytes());
            }
            if (!answer.isEmpty()) {
                UnixSockets.send(errno, connection, answer.getBytes(StandardCharsets.UTF_8), List.of());
            }
            return new Received(
                    new String(text.asSlice(0, received.bytes()).toArray(JAVA_BYTE), StandardCharsets.US_ASCII),
                    received.descriptors());
        } finally {
            FileIo.close(errno, connection);
        }
    }

    @Override
    public void close() {
        FileIo.close(errno, listening);
    }
}
