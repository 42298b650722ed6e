package io.farpage.agent.control.guest;

import io.farpage.agent.control.socket.SocketAccess;
import io.farpage.it.simulation.engine.Descriptors;
import io.farpage.it.simulation.guest.Handoffs;
import io.farpage.linux.Errno;
import io.farpage.linux.EventFd;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;

/** In place of the class of the same name: simulated VMMs hand their memory over. */
final class HandoffSocket implements AutoCloseable {
    private final Path path;
    private final EventFd wake = new EventFd();

    private HandoffSocket(Path path) {
        this.path = path;
    }

    static HandoffSocket listen(Path path, SocketAccess access) throws IOException {
        HandoffSocket socket = new HandoffSocket(path);
        if (!Handoffs.listen(path, () -> socket.wake.signal(Errno.create()))) {
            throw new IOException("cannot listen on " + path + ": a process does so already");
        }
        return socket;
    }

    static HandoffSocket ended(Path path) {
        return new HandoffSocket(path);
    }

    Optional<HandoffConnection> next() {
        Optional<Handoffs.Connection> connection = Handoffs.take(path);
        if (connection.isPresent()) {
            return connection.map(HandoffConnection::new);
        }
        Descriptors.await(new int[] {wake.fd()}, 1, -1);
        var _ = wake.drain(Errno.create());
        return Handoffs.take(path).map(HandoffConnection::new);
    }

    Path path() {
        return path;
    }

    void wakeUp() {
        wake.signal(Errno.create());
    }

    void stopListening() {
        Handoffs.stop(path);
    }

    @Override
    public void close() {
        stopListening();
        wake.close();
    }
}
