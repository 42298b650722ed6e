package io.farpage.agent.control.guest;

import io.farpage.linux.Errno;
import io.farpage.linux.Sockets;
import io.farpage.linux.UnixSockets;
import io.farpage.linux.uffd.Userfaultfd;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** A process that passes a userfaultfd of its own to a socket, and waits for its end. */
final class UserfaultfdOwner {
    private UserfaultfdOwner() {}

    /** Starts one that passes its userfaultfd to a socket that listens at a path. */
    static Process start(Path socket) throws IOException {
        return new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED",
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        place(UserfaultfdOwner.class) + ":" + place(Userfaultfd.class),
                        UserfaultfdOwner.class.getName(),
                        socket.toString())
                .inheritIO()
                .redirectInput(ProcessBuilder.Redirect.PIPE)
                .start();
    }

    private static String place(Class<?> of) {
        return of.getProtectionDomain().getCodeSource().getLocation().getPath();
    }

    /**
     * Owns a userfaultfd until its input ends.
     *
     * @param arguments the path of the socket
     */
    public static void main(String[] arguments) throws IOException {
        Errno errno = Errno.create();
        Userfaultfd own = Userfaultfd.openForUserMode(0);
        int socket = Sockets.openUnix(errno);
        UnixSockets.connect(errno, socket, Path.of(arguments[0]));
        UnixSockets.send(errno, socket, new byte[1], List.of(own.fd()));
        while (System.in.read() >= 0) {}
    }
}
