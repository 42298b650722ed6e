package io.farpage.bench.cluster;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.Flow;

/**
 * A file as the body of a request, in chunks of 1 MiB. Its first part is mapped. The zeros behind it, for which the
 * file has no blocks, are not read: the kernel would fill its page cache with them. For one subscriber.
 */
final class FileChunks implements Flow.Publisher<ByteBuffer> {
    private static final long CHUNK = 1 << 20;

    private final MemorySegment written;
    private final MemorySegment zeros;
    private final long bytes;

    private FileChunks(MemorySegment written, long bytes) {
        this.written = written;
        this.zeros = Arena.ofAuto().allocate(CHUNK);
        this.bytes = bytes;
    }

    /** @param written bytes of the first part */
    static FileChunks of(Path path, long written) throws IOException {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            MemorySegment mapped = channel.map(FileChannel.MapMode.READ_ONLY, 0, written, Arena.ofAuto());
            return new FileChunks(mapped, channel.size());
        }
    }

    long bytes() {
        return bytes;
    }

    private MemorySegment chunk(long at) {
        return at < written.byteSize()
                ? written.asSlice(at, Math.min(CHUNK, written.byteSize() - at))
                : zeros.asSlice(0, Math.min(CHUNK, bytes - at));
    }

    @Override
    public void subscribe(Flow.Subscriber<? super ByteBuffer> subscriber) {
        subscriber.onSubscribe(new Chunks(subscriber));
    }

    /** Sends what is requested; a request that comes from within {@code onNext} is met by the caller's loop. */
    private final class Chunks implements Flow.Subscription {
        private final Flow.Subscriber<? super ByteBuffer> subscriber;
        private long at;
        private long requested;
        private boolean isSending;
        private boolean isDone;

        Chunks(Flow.Subscriber<? super ByteBuffer> subscriber) {
            this.subscriber = subscriber;
        }

        @Override
        public void request(long count) {
            synchronized (this) {
                requested += count;
                if (isSending) {
                    return;
                }
                isSending = true;
            }
            while (take()) {
                ByteBuffer chunk = chunk(at).asByteBuffer();
                at += chunk.remaining();
                subscriber.onNext(chunk);
            }
        }

        /** Whether another chunk must be sent; completes the body after the last one. */
        private boolean take() {
            synchronized (this) {
                boolean isEnd = at == bytes && !isDone;
                if (!isEnd && !isDone && requested > 0) {
                    requested--;
                    return true;
                }
                isSending = false;
                if (!isEnd) {
                    return false;
                }
                isDone = true;
            }
            subscriber.onComplete();
            return false;
        }

        @Override
        public synchronized void cancel() {
            isDone = true;
        }
    }
}
