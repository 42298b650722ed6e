package io.farpage.rest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.io.InputStream;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** A clock turned by hand, and a client that sends {@code part} bytes after {@code pause} nanoseconds. */
class PacedBodyTest {
    private static final long IDLE = 30_000;

    private final AtomicLong now = new AtomicLong(Long.MAX_VALUE - 1_000);
    private final List<Long> timeouts = new ArrayList<>();
    private final AtomicLong pause = new AtomicLong();
    private int part = 1;
    private boolean breaksOff;

    private final PacedBody body = new PacedBody(
            new InputStream() {
                @Override
                public int read() {
                    throw new UnsupportedOperationException("byte by byte");
                }

                @Override
                public int read(byte[] into, int offset, int length) throws IOException {
                    now.addAndGet(pause.get());
                    if (breaksOff) {
                        throw new SocketTimeoutException("idle");
                    }
                    return Math.min(part, length);
                }
            },
            timeouts::add,
            IDLE,
            now::get);

    private void client(int bytes, Duration after) {
        part = bytes;
        pause.set(after.toNanos());
    }

    private static void requireTooSlow(String detail, ProblemException e) {
        assertEquals(408, e.problem("").status());
        assertEquals("the body comes too slowly: " + detail + "; at least 1024 a second are asked for", e.getMessage());
    }

    @Test
    void shouldRefuseAClientThatSendsLessThanOneKibibyteASecond() throws Exception {
        client(500, Duration.ofSeconds(1));
        for (int second = 1; second < 10; second++) {
            assertEquals(500, body.read(new byte[4096]));
        }
        requireTooSlow("5000 bytes in 10 s", assertThrows(ProblemException.class, () -> body.read(new byte[4096])));
    }

    @Test
    void shouldTakeAClientThatIsFastEnoughHoweverLongItTakes() throws Exception {
        client(1024, Duration.ofSeconds(1));
        for (int second = 0; second < 10_000; second++) {
            assertEquals(1024, body.read(new byte[4096]));
        }
    }

    /** The homes of the pages may be slow; that is not the client's fault. */
    @Test
    void shouldNotCountTheTimeBetweenReads() throws Exception {
        client(1, Duration.ZERO);
        for (int i = 0; i < 100; i++) {
            assertEquals(0, body.read(), "a byte of zero");
            now.addAndGet(Duration.ofMinutes(1).toNanos());
        }
    }

    @Test
    void shouldRefuseAStalledClientAndReportABrokenConnection() throws Exception {
        client(100, Duration.ofSeconds(1));
        body.read(new byte[4096]);
        breaksOff = true;
        assertThrows(SocketTimeoutException.class, () -> body.read(new byte[4096]), "after two seconds");
        pause.set(Duration.ofSeconds(10).toNanos());
        requireTooSlow("100 bytes in 12 s", assertThrows(ProblemException.class, () -> body.read(new byte[4096])));
    }

    @Test
    void shouldRestoreTheConnectionTimeoutAfterEachRead() throws Exception {
        client(1, Duration.ZERO);
        body.read(new byte[1]);
        assertEquals(List.of(10_000L, IDLE), timeouts);
        breaksOff = true;
        assertThrows(IOException.class, () -> body.read(new byte[1]));
        assertEquals(List.of(10_000L, IDLE, 10_000L, IDLE), timeouts);
    }
}
