package io.farpage.verbs.soft;

import io.farpage.linux.Errno;
import io.farpage.linux.Message;
import io.farpage.linux.SocketIo;

/** The bytes of a connection as the socket carries them. */
final class PlainStream implements SocketStream {
    private final int fd;
    private final Errno errno;

    PlainStream(int fd, Errno errno) {
        this.fd = fd;
        this.errno = errno;
    }

    @Override
    public long receive(long address, long length, int flags) {
        return SocketIo.recv(errno, fd, address, length, flags);
    }

    @Override
    public long receive(Message into, int flags) {
        return SocketIo.recvmsg(errno, fd, into, flags);
    }

    @Override
    public long send(Message from, int flags) {
        return SocketIo.send(errno, fd, from, flags);
    }

    @Override
    public long flush(int flags) {
        return 0;
    }

    @Override
    public boolean hasUnsent() {
        return false;
    }

    @Override
    public boolean hasReceived() {
        return false;
    }

    @Override
    public void close() {
        // The descriptor is all there is.
    }
}
