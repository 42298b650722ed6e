package io.farpage.linux;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import org.junit.jupiter.api.Test;

final class PosixTest {
    @Test
    void shouldPauseAndLogOnceASecondWhenDescriptorsRunOut() {
        Exhaustion exhaustion = new Exhaustion();
        assertFalse(exhaustion.isOf(Errno.EAGAIN, 0));
        assertEquals(0, exhaustion.remainingNanos(0));
        int said = 0;
        long now = 5;
        for (; now < 3_000_000_000L; now += exhaustion.remainingNanos(now)) {
            if (exhaustion.isOf(Errno.EMFILE, now)) {
                said++;
                assertTrue(exhaustion.describe("EMFILE").startsWith("EMFILE, " + (said == 1 ? 1 : 10) + " times"));
            }
            assertEquals(100_000_000, exhaustion.remainingNanos(now));
        }
        assertEquals(3, said);
        assertEquals(0, exhaustion.remainingNanos(now));
    }

    private final Errno errno = Errno.create();

    @Test
    void shouldMoveScatteredBytesThroughALoopbackConnection() throws Exception {
        for (String host : new String[] {"127.0.0.1", "::1"}) {
            InetAddress loopback = InetAddress.getByName(host);
            int family = host.contains(":") ? Sockets.AF_INET6 : Sockets.AF_INET;
            int listener = Sockets.openTcp(errno, family, 0);
            Sockets.bind(errno, listener, new InetSocketAddress(loopback, 0));
            Sockets.listen(errno, listener, 1);
            InetSocketAddress address = Sockets.localAddress(errno, listener);
            assertEquals(loopback, address.getAddress());
            int client = Sockets.openTcp(errno, family, 0);
            assertEquals(0, Sockets.connect(errno, client, address));
            int server = Sockets.accept(errno, listener, 0);
            assertTrue(server > 0);
            Sockets.setOption(errno, client, Sockets.Option.TCP_NODELAY, 1);
            assertEquals(1, Sockets.getOption(errno, client, Sockets.Option.TCP_NODELAY));

            try (Arena arena = Arena.ofConfined()) {
                MemorySegment from = arena.allocate(8);
                MemorySegment into = arena.allocate(8);
                for (int i = 0; i < 8; i++) {
                    from.set(JAVA_BYTE, i, (byte) i);
                }
                Message out = new Message(2);
                out.add(from.address() + 4, 4);
                out.add(from.address(), 4);
                assertEquals(8, SocketIo.sendmsg(errno, client, out, 0));
                Message in = new Message(3);
                in.add(into.address() + 7, 1);
                in.add(into.address(), 7);
                assertEquals(8, SocketIo.recvmsg(errno, server, in, SocketIo.MSG_WAITALL));
                assertEquals(4, into.get(JAVA_BYTE, 7));
                assertEquals(3, into.get(JAVA_BYTE, 6));
                assertEquals(-Errno.EAGAIN, SocketIo.recv(errno, server, into.address(), 1, SocketIo.MSG_DONTWAIT));
            }
            FileIo.close(errno, client);
            FileIo.close(errno, server);
            FileIo.close(errno, listener);
        }
    }

    @Test
    void shouldDropWhatWasSentFromAMessage() {
        Message message = new Message(3);
        message.add(1000, 10);
        message.add(2000, 0);
        message.add(3000, 20);
        message.consume(15);
        assertEquals(15, message.bytes());
        assertEquals(1, message.count());
        message.consume(15);
        assertEquals(0, message.count());
    }

    @Test
    void shouldWakeAPollSetThroughEpoll() {
        try (EventFd event = new EventFd();
                Epoll epoll = new Epoll(4)) {
            epoll.add(event.fd(), Epoll.EPOLLIN);
            PollSet set = new PollSet(1);
            set.add(epoll.fd(), PollSet.POLLIN);
            assertEquals(0, set.await(1_000_000));
            event.signal(errno);
            assertEquals(1, set.await(1_000_000_000));
            assertEquals(PollSet.POLLIN, set.ready(0));
            assertTrue(event.drain(errno));
            assertFalse(event.drain(errno));
            assertEquals(0, set.await(0));
        }
    }

    @Test
    void shouldKeepDescriptorsWhenThereAreMoreThanExpected() {
        try (EventFd first = new EventFd();
                EventFd second = new EventFd();
                EventFd third = new EventFd()) {
            PollSet set = new PollSet(0);
            for (EventFd each : List.of(first, second, third)) {
                assertEquals(set.size(), set.add(each.fd(), PollSet.POLLIN));
            }
            third.signal(errno);
            assertEquals(1, set.await(1_000_000_000));
            assertEquals(0, set.ready(0));
            assertEquals(PollSet.POLLIN, set.ready(2));
            first.signal(errno);
            assertEquals(2, set.await(1_000_000_000));
            assertEquals(PollSet.POLLIN, set.ready(0));
        }
    }

    @Test
    void shouldNameTheAddressThatCannotBeBound() throws Exception {
        int fd = Sockets.openTcp(errno, Sockets.AF_INET, 0);
        PosixException e = assertThrows(
                PosixException.class,
                () -> Sockets.bind(errno, fd, new InetSocketAddress(InetAddress.getByName("192.0.2.1"), 0)));
        assertEquals("bind(/192.0.2.1:0): EADDRNOTAVAIL", e.getMessage());
        FileIo.close(errno, fd);
    }

    @Test
    void shouldRefuseToPinWhenCpuDoesNotExist() {
        assertEquals(
                Errno.EINVAL,
                assertThrows(PosixException.class, () -> NativeThread.pinTo(1023))
                        .errno());
        assertTrue(NativeThread.id() > 0);
    }
}
