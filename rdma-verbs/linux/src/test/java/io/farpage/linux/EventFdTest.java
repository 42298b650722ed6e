package io.farpage.linux;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class EventFdTest {
    private final Errno errno = Errno.create();

    @Test
    void shouldBeReadableOnceItIsSignalled() {
        try (EventFd event = new EventFd()) {
            assertFalse(event.drain(errno));
            event.signal(errno);
            assertTrue(event.drain(errno));
            assertFalse(event.drain(errno));
        }
    }

    @Test
    void shouldNotWriteToTheFileThatHasItsNumberWhenClosed() {
        EventFd closed = new EventFd();
        closed.close();
        // Another thread may open a file in between, so the number is looked for among several.
        EventFd[] later = new EventFd[64];
        boolean isReused = false;
        for (int i = 0; i < later.length; i++) {
            later[i] = new EventFd();
            isReused |= later[i].fd() == closed.fd();
        }
        closed.signal(errno);
        int readable = 0;
        for (EventFd each : later) {
            readable += each.drain(errno) ? 1 : 0;
            each.close();
        }
        assertTrue(isReused, "no file got the number " + closed.fd());
        assertEquals(0, readable);
    }
}
