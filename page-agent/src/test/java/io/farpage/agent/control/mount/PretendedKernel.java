package io.farpage.agent.control.mount;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.Libc;
import io.farpage.linux.PollSet;
import io.farpage.linux.fuse.FuseRequest;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;

/**
 * The kernel's end of a file system, as the descriptor of {@code /dev/fuse} shows it: a pair of sockets that keep the
 * bounds of messages. Needs no right to mount.
 */
final class PretendedKernel implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final int AF_UNIX = 1;
    private static final int SOCK_SEQPACKET = 5;
    private static final int REQUEST_HEADER = 40;
    private static final int ANSWER_HEADER = 16;
    private static final int BYTES = 1 << 20;

    private static final MethodHandle socketpair$mh =
            Libc.capturing("socketpair", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));

    private final Errno errno = Errno.create();
    private final MemorySegment buffer = Arena.ofAuto().allocate(BYTES, Long.BYTES);
    private final int fd;
    private final int server;
    private long asked;

    /** An answer of the server, or a notice. */
    static final class Answer {
        private final long unique;
        private final int error;
        private final byte[] body;

        private Answer(long unique, int error, byte[] body) {
            this.unique = unique;
            this.error = error;
            this.body = body;
        }

        /** The request; 0: a notice. */
        long unique() {
            return unique;
        }

        /** Error number, positive; of a notice its code, negative. */
        int error() {
            return error;
        }

        /** What is behind the header. */
        byte[] body() {
            return body;
        }

        ByteBuffer fields() {
            return ByteBuffer.wrap(body).order(ByteOrder.nativeOrder());
        }
    }

    PretendedKernel() throws Throwable {
        MemorySegment pair = Arena.ofAuto().allocate(JAVA_INT, 2);
        int result = (int) socketpair$mh.invokeExact(errno.segment(), AF_UNIX, SOCK_SEQPACKET, 0, pair.address());
        assertEquals(0, result);
        fd = pair.get(JAVA_INT, 0);
        server = pair.get(JAVA_INT, 4);
    }

    /** The server's end; the server's to close. */
    int server() {
        return server;
    }

    /** Sends a request. Returns its number. */
    long ask(int operation, long node, byte[] body) {
        buffer.asByteBuffer()
                .order(ByteOrder.nativeOrder())
                .putInt(REQUEST_HEADER + body.length)
                .putInt(operation)
                .putLong(++asked)
                .putLong(node)
                .putLong(0)
                .putLong(0)
                .put(body);
        int length = REQUEST_HEADER + body.length;
        assertEquals(length, FileIo.write(errno, fd, buffer.address(), length));
        return asked;
    }

    /** The number of the latest request. */
    long asked() {
        return asked;
    }

    /** The next answer or notice; empty if none comes in a time. */
    Optional<Answer> next(Duration patience) {
        PollSet ready = new PollSet(1);
        ready.add(fd, PollSet.POLLIN);
        ready.await(patience.toNanos());
        if (ready.ready(0) == 0) {
            return Optional.empty();
        }
        int length = (int) FileIo.read(errno, fd, buffer.address(), BYTES);
        if (length <= 0) {
            return Optional.empty();
        }
        assertEquals(length, buffer.get(JAVA_INT, 0), "the length in the header");
        return Optional.of(new Answer(
                buffer.get(JAVA_LONG, 8),
                -buffer.get(JAVA_INT, 4),
                buffer.asSlice(ANSWER_HEADER, length - ANSWER_HEADER).toArray(JAVA_BYTE)));
    }

    /** Sends a request, and waits for its answer. */
    Answer call(int operation, long node, byte[] body) {
        long number = ask(operation, node, body);
        Answer answer = next(PATIENCE).orElseThrow(() -> new AssertionError("no answer"));
        assertEquals(number, answer.unique());
        return answer;
    }

    Answer lookUp(String name) {
        return call(FuseRequest.LOOKUP, FuseRequest.ROOT, (name + "\0").getBytes(StandardCharsets.UTF_8));
    }

    /** Looks a file up, and returns its node. */
    long find(String name) {
        Answer answer = lookUp(name);
        assertEquals(0, answer.error(), name);
        return answer.fields().getLong();
    }

    Answer open(long node) {
        return call(FuseRequest.OPEN, node, new byte[8]);
    }

    Answer release(long node) {
        return call(FuseRequest.RELEASE, node, new byte[24]);
    }

    /** Sends a READ. Returns its number. */
    long askToRead(long node, long offset, int size) {
        return ask(FuseRequest.READ, node, range(offset, size));
    }

    private static byte[] range(long offset, int size) {
        return ByteBuffer.allocate(REQUEST_HEADER)
                .order(ByteOrder.nativeOrder())
                .putLong(0)
                .putLong(offset)
                .putInt(size)
                .array();
    }

    /** The names of the directory, in what the kernel reads of it at once. */
    byte[] list(int size) {
        return call(FuseRequest.READDIR, FuseRequest.ROOT, range(0, size)).body();
    }

    byte[] read(long node, long offset, int size) {
        Answer answer = call(FuseRequest.READ, node, range(offset, size));
        assertEquals(0, answer.error());
        return answer.body();
    }

    /** Says that look-ups of a node are undone. There is no answer. */
    void forget(long node, long lookups) {
        ask(
                FuseRequest.FORGET,
                node,
                ByteBuffer.allocate(Long.BYTES)
                        .order(ByteOrder.nativeOrder())
                        .putLong(lookups)
                        .array());
    }

    void interrupt(long number) {
        ask(
                FuseRequest.INTERRUPT,
                0,
                ByteBuffer.allocate(Long.BYTES)
                        .order(ByteOrder.nativeOrder())
                        .putLong(number)
                        .array());
    }

    /** The file system is unmounted. */
    @Override
    public void close() {
        FileIo.close(errno, fd);
    }
}
