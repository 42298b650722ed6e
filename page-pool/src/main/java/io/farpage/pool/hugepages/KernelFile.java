package io.farpage.pool.hugepages;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** {@code nr_hugepages}, locked while open against reservations of other processes. */
final class KernelFile implements HugepageControl {
    private static final Duration LOCK_DEADLINE = Duration.ofSeconds(10);
    private static final Duration LOCK_RETRY = Duration.ofMillis(5);

    private final FileChannel channel;
    private final Path surplus;

    private KernelFile(FileChannel channel, Path surplus) {
        this.channel = channel;
        this.surplus = surplus;
    }

    static KernelFile open(Path folder) throws IOException {
        FileChannel channel =
                FileChannel.open(folder.resolve("nr_hugepages"), StandardOpenOption.READ, StandardOpenOption.WRITE);
        try {
            lock(channel);
            return new KernelFile(channel, folder.resolve("surplus_hugepages"));
        } catch (IOException | RuntimeException e) {
            channel.close();
            throw e;
        }
    }

    /** Waits up to the deadline; after that a stuck holder shall not keep us from going on without. Closing unlocks. */
    private static void lock(FileChannel channel) throws IOException {
        long deadline = System.nanoTime() + LOCK_DEADLINE.toNanos();
        while (channel.tryLock() == null && System.nanoTime() - deadline < 0) {
            LockSupport.parkNanos(LOCK_RETRY.toNanos());
        }
    }

    @Override
    public long total() throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(32);
        channel.read(bytes, 0);
        return Long.parseLong(
                StandardCharsets.US_ASCII.decode(bytes.flip()).toString().strip());
    }

    @Override
    public long configured() throws IOException {
        return total() - Long.parseLong(Files.readString(surplus).strip());
    }

    @Override
    public void configure(long pages) throws IOException {
        channel.write(ByteBuffer.wrap((pages + "\n").getBytes(StandardCharsets.US_ASCII)), 0);
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
