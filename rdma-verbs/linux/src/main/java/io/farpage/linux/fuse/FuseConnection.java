package io.farpage.linux.fuse;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.linux.Errno;
import io.farpage.linux.ErrnoName;
import io.farpage.linux.FileIo;
import io.farpage.linux.Message;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * The server's side of a file system, on its descriptor. One thread reads requests, and allocates nothing for that; any
 * thread answers them, and does not wait. Notices to the kernel may wait for answers, so no thread that gives answers
 * may send one.
 */
public final class FuseConnection implements AutoCloseable {
    /** No request. */
    public static final int NONE = 0;

    /** At least FUSE_MIN_READ_BUFFER, 8192. */
    private static final int REQUEST_BYTES = 64 << 10;

    private static final int ANSWER_HEADER = 16;
    private static final int NOTIFY_INVAL_ENTRY = 3;
    private static final int NOTIFY_STORE = 4;
    private static final int NOTIFY_RESEND = 7;
    private static final long CLOSE_SECONDS = 2;

    private final int fd;
    private final Errno errno = Errno.create();
    private final MemorySegment buffer = Arena.ofAuto().allocate(REQUEST_BYTES, Long.BYTES);
    private final MemorySegment header = Arena.ofAuto().allocate(ANSWER_HEADER, Long.BYTES);
    private final Message answer = new Message(2);
    /** Held for reading while another thread writes to the descriptor, so that it is not closed meanwhile. */
    private final ReadWriteLock use = new ReentrantReadWriteLock();

    private volatile boolean ended;
    private boolean closed;

    /** @param fd of a file system that is mounted; closed with this */
    public FuseConnection(int fd) {
        this.fd = fd;
        int result = FileIo.setNonBlocking(errno, fd);
        if (result < 0) {
            throw new IllegalArgumentException("descriptor %d: fcntl: %s".formatted(fd, ErrnoName.of(-result)));
        }
    }

    /** Readable when a request waits, or the file system has ended. */
    public int fd() {
        return fd;
    }

    /** Whether the file system is unmounted and no process uses it. */
    public boolean hasEnded() {
        return ended;
    }

    /**
     * Reads the next request. The reading thread only, as the methods that describe the request.
     *
     * @return its operation; {@link #NONE} if none waits, or the file system has ended
     */
    public int read() {
        while (!ended) {
            long bytes = FileIo.read(errno, fd, buffer.address(), REQUEST_BYTES);
            if (bytes == -Errno.EAGAIN) {
                return NONE;
            }
            // ENOENT: the caller was interrupted before this read.
            if (bytes == -Errno.EINTR || bytes == -Errno.ENOENT) {
                continue;
            }
            if (bytes < FuseRequest.HEADER_BYTES || bytes != buffer.get(JAVA_INT, 0)) {
                // ENODEV: it is unmounted. Another error would not go away either.
                ended = true;
                return NONE;
            }
            return buffer.get(JAVA_INT, 4);
        }
        return NONE;
    }

    /** The number of the request. */
    public long unique() {
        return buffer.get(JAVA_LONG, 8);
    }

    /** The node that the request concerns. */
    public long node() {
        return buffer.get(JAVA_LONG, 16);
    }

    /** Where a READ begins. */
    public long offset() {
        return buffer.get(JAVA_LONG, FuseRequest.HEADER_BYTES + FuseRequest.OFFSET_AT);
    }

    /** How many bytes a READ may answer. */
    public int size() {
        return buffer.get(JAVA_INT, FuseRequest.HEADER_BYTES + FuseRequest.SIZE_AT);
    }

    /** All of the request, which another thread may answer. */
    public FuseRequest request() {
        int length = buffer.get(JAVA_INT, 0);
        return new FuseRequest(
                buffer.get(JAVA_INT, 4),
                unique(),
                node(),
                buffer.asSlice(FuseRequest.HEADER_BYTES, length - FuseRequest.HEADER_BYTES)
                        .toArray(JAVA_BYTE));
    }

    /**
     * Answers a READ. The reading thread only, and not once this is closed.
     *
     * @param address of the bytes, which are the caller's again when this returns
     */
    public void answer(long number, long address, int length) {
        header.set(JAVA_INT, 0, ANSWER_HEADER + length);
        header.set(JAVA_LONG, 8, number);
        answer.clear();
        answer.add(header.address(), ANSWER_HEADER);
        answer.add(address, length);
        var _ = FileIo.writev(errno, fd, answer);
    }

    /** Answers a request. Returns whether its caller still waits. */
    public boolean answer(FuseRequest request, byte[] data) {
        return send(0, request.unique(), data) >= 0;
    }

    /** Answers a request with an error number. */
    public void fail(FuseRequest request, int error) {
        var _ = send(-error, request.unique(), new byte[0]);
    }

    /**
     * Puts bytes of a file into the page cache. Returns 0, or a negative error number: ENOENT if the kernel has no such
     * node.
     */
    public int store(long node, long offset, byte[] data) {
        byte[] notice = ByteBuffer.allocate(24 + data.length)
                .order(ByteOrder.nativeOrder())
                .putLong(node)
                .putLong(offset)
                .putInt(data.length)
                .putInt(0)
                .put(data)
                .array();
        return notify(NOTIFY_STORE, notice);
    }

    /**
     * Lets the kernel forget what a name in the directory leads to. The node itself is forgotten when no process has it
     * open. Returns 0, or a negative error number: ENOENT if the kernel does not know the name.
     */
    public int forgetName(String name) {
        byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
        byte[] notice = ByteBuffer.allocate(16 + bytes.length + 1)
                .order(ByteOrder.nativeOrder())
                .putLong(FuseRequest.ROOT)
                .putInt(bytes.length)
                .putInt(0)
                .put(bytes)
                .array();
        return notify(NOTIFY_INVAL_ENTRY, notice);
    }

    /**
     * Makes the kernel repeat the requests that a server before this one has read and not answered. Returns 0, or a
     * negative error number: EINVAL before Linux 6.9.
     */
    public int resend() {
        return notify(NOTIFY_RESEND, new byte[0]);
    }

    private int notify(int code, byte[] notice) {
        return (int) Math.min(0, send(code, 0, notice));
    }

    /** {@code struct fuse_out_header}, and what is behind it. */
    private long send(int errorOrCode, long unique, byte[] data) {
        use.readLock().lock();
        try (Arena arena = Arena.ofConfined()) {
            if (closed) {
                return -Errno.EBADF;
            }
            MemorySegment message = arena.allocate(ANSWER_HEADER + data.length, Long.BYTES);
            message.asByteBuffer()
                    .order(ByteOrder.nativeOrder())
                    .putInt(ANSWER_HEADER + data.length)
                    .putInt(errorOrCode)
                    .putLong(unique);
            MemorySegment.copy(data, 0, message, JAVA_BYTE, ANSWER_HEADER, data.length);
            return FileIo.write(Errno.ofThread(), fd, message.address(), message.byteSize());
        } finally {
            use.readLock().unlock();
        }
    }

    /**
     * Closes this copy of the descriptor; the kernel waits for another server if there is another copy. While a notice
     * waits in the kernel the descriptor stays open.
     */
    @Override
    public void close() {
        ended = true;
        try {
            if (use.writeLock().tryLock(CLOSE_SECONDS, TimeUnit.SECONDS)) {
                try {
                    if (!closed) {
                        closed = true;
                        FileIo.close(Errno.ofThread(), fd);
                    }
                } finally {
                    use.writeLock().unlock();
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
