package io.farpage.it.harness;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.farpage.posix.Errno;
import io.farpage.posix.FileIo;
import io.farpage.posix.Libc;
import io.farpage.posix.Message;
import io.farpage.posix.SocketIo;
import io.farpage.posix.Sockets;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The listening end of a VMM's handoff, for tests that look at what comes through it. Used by one thread. */
public final class HandoffListener implements AutoCloseable {
    private static final MethodHandle bind$mh =
            Libc.capturing("bind", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_INT));
    private static final int SUN_PATH = 2;
    private static final int SOCKADDR_BYTES = 110;
    private static final int CMSG_HEADER = 16;
    private static final int MAX_BYTES = 4096;
    private static final Duration PATIENCE = Duration.ofSeconds(20);

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

        /** Pages it, as one region of {@code pages} pages with {@code count} descriptors, or fails the test. */
        public TinyPager page(int pages, int count) {
            Matcher region = ONE_REGION.matcher(json);
            if (!region.matches() || Long.parseLong(region.group(2)) != pages * 4096L || descriptors.size() != count) {
                throw new AssertionError(
                        "not one region of " + pages + " pages and " + count + " descriptors: " + this);
            }
            return new TinyPager(descriptors, Long.parseLong(region.group(1)), pages);
        }
    }

    /** Binds and listens. */
    public HandoffListener(Path socket) {
        listening = Sockets.openUnix(errno);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment address = arena.allocate(SOCKADDR_BYTES, 2);
            address.set(JAVA_SHORT, 0, (short) Sockets.AF_UNIX);
            byte[] path = socket.toString().getBytes(StandardCharsets.UTF_8);
            MemorySegment.copy(path, 0, address, JAVA_BYTE, SUN_PATH, path.length);
            errno.require(
                    (int) bind$mh.invokeExact(errno.segment(), listening, address.address(), SOCKADDR_BYTES),
                    "bind(" + socket + ")");
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
        Sockets.listen(errno, listening, 1);
        Sockets.setReceiveTimeout(errno, listening, PATIENCE);
    }

    /** Waits for a VMM and its message. The connection is closed, which must not matter to the VMM. */
    public Received receive() {
        int connection = Sockets.accept(errno, listening, 0);
        if (connection < 0) {
            throw new AssertionError("nobody connected: error " + -connection);
        }
        try (Arena arena = Arena.ofConfined()) {
            Sockets.setReceiveTimeout(errno, connection, PATIENCE);
            MemorySegment text = arena.allocate(MAX_BYTES);
            MemorySegment control = arena.allocate(64, 8);
            Message message = new Message(1);
            message.add(text.address(), MAX_BYTES);
            message.control(control.address(), control.byteSize());
            long bytes = SocketIo.recvmsg(errno, connection, message, SocketIo.MSG_CMSG_CLOEXEC);
            if (bytes <= 0) {
                throw new AssertionError("no message came: " + bytes);
            }
            List<Integer> descriptors = new ArrayList<>();
            for (long at = CMSG_HEADER; at + Integer.BYTES <= control.get(JAVA_LONG, 0); at += Integer.BYTES) {
                descriptors.add(control.get(JAVA_INT, at));
            }
            return new Received(
                    new String(text.asSlice(0, bytes).toArray(JAVA_BYTE), StandardCharsets.US_ASCII), descriptors);
        } finally {
            FileIo.close(errno, connection);
        }
    }

    @Override
    public void close() {
        FileIo.close(errno, listening);
    }
}
