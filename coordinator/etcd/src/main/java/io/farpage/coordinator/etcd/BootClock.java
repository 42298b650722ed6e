package io.farpage.coordinator.etcd;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The time since this host was booted, the time in suspend included, as {@code /proc/uptime} has it (CLOCK_BOOTTIME in
 * hundredths of a second, proc(5)). {@link System#nanoTime} stands in suspend. The file is held open, so that a process
 * without free descriptors can read the time. Thread-safe.
 */
final class BootClock implements LongSupplier {

    private static final Logger LOG = LoggerFactory.getLogger(BootClock.class);
    private static final long UNIT = TimeUnit.SECONDS.toNanos(1) / 100;

    /** Two numbers with two decimals. */
    private static final int LONGEST = 64;

    private final RandomAccessFile file;

    private BootClock(RandomAccessFile file) {
        this.file = file;
    }

    /** The clock of this host. A system without the file has {@link System#nanoTime}. */
    static LongSupplier open(Path uptime) {
        try {
            BootClock clock = new BootClock(new RandomAccessFile(uptime.toFile(), "r"));
            clock.read();
            return clock;
        } catch (IOException | NumberFormatException e) {
            LOG.warn("a leader that is suspended may not notice it, as {} cannot be read: {}", uptime, e.toString());
            return System::nanoTime;
        }
    }

    /** A time that cannot be read is later than all others: no lease holds at it. */
    @Override
    public long getAsLong() {
        try {
            return read();
        } catch (IOException | NumberFormatException e) {
            LOG.error("the time since boot cannot be read: {}", e.toString());
            return Long.MAX_VALUE;
        }
    }

    private synchronized long read() throws IOException {
        byte[] bytes = new byte[LONGEST];
        file.seek(0);
        int length = Math.max(0, file.read(bytes));
        String text = new String(bytes, 0, length, StandardCharsets.US_ASCII);
        int space = Math.max(0, text.indexOf(' '));
        return Long.parseLong(text.substring(0, space).replace(".", "")) * UNIT;
    }
}
