package io.farpage.rest;

import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;

/**
 * A body of any length that is read as it comes, at a minimum rate: 1 KiB a second on average, after ten seconds. Only
 * the time counts in which the reader waits for the client, not what the reader does between. Used by one thread.
 * (Jetty 12.1 has {@code setMinRequestDataRate} and does not read it.)
 */
final class PacedBody extends InputStream {
    static final long BYTES_PER_SECOND = 1 << 10;
    static final long GRACE_MILLIS = TimeUnit.SECONDS.toMillis(10);

    private final InputStream from;
    private final LongConsumer idleTimeout;
    private final LongSupplier clock;
    private final long otherwise;
    private long waited;
    private long bytes;

    /**
     * Makes one.
     *
     * @param idleTimeout sets that of the connection in milliseconds, which ends a read
     * @param otherwise the idle timeout while nothing is read
     * @param clock monotonic nanoseconds
     */
    PacedBody(InputStream from, LongConsumer idleTimeout, long otherwise, LongSupplier clock) {
        this.from = from;
        this.idleTimeout = idleTimeout;
        this.otherwise = otherwise;
        this.clock = clock;
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : Byte.toUnsignedInt(one[0]);
    }

    /** @throws ProblemException 408 if the client is too slow */
    @Override
    public int read(byte[] into, int offset, int length) throws IOException {
        long began = clock.getAsLong();
        idleTimeout.accept(GRACE_MILLIS);
        int part;
        try {
            part = from.read(into, offset, length);
            waited += clock.getAsLong() - began;
            bytes += Math.max(0, part);
        } catch (IOException e) {
            waited += clock.getAsLong() - began;
            requireRate();
            throw e;
        } finally {
            idleTimeout.accept(otherwise);
        }
        if (part >= 0) {
            requireRate();
        }
        return part;
    }

    private void requireRate() {
        long millis = TimeUnit.NANOSECONDS.toMillis(waited);
        if (millis >= GRACE_MILLIS && bytes * TimeUnit.SECONDS.toMillis(1) < millis * BYTES_PER_SECOND) {
            throw new ProblemException(
                    408,
                    "too-slow",
                    "the body comes too slowly: %d bytes in %d s; at least %d a second are asked for"
                            .formatted(bytes, TimeUnit.MILLISECONDS.toSeconds(millis), BYTES_PER_SECOND));
        }
    }
}
