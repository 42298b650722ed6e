package io.farpage.agent.doctor;

import io.farpage.config.HostPort;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.List;

/** Whether the agent could listen where it is told to: takes the port for a moment. */
final class ListenCheck implements Check {
    private static final String ID = "net.listen";

    private final String key;
    private final HostPort listen;

    /** @param key that configures it, for messages */
    ListenCheck(String key, HostPort listen) {
        this.key = key;
        this.listen = listen;
    }

    @Override
    public List<Line> run() {
        String subject = "listen " + key;
        if (listen.port() == 0) {
            return List.of(Line.ok(ID, subject, listen + ": the system chooses a free port"));
        }
        try (ServerSocket socket = new ServerSocket()) {
            // As the agent does: connections of an agent that just ended shall not count.
            socket.setReuseAddress(true);
            socket.bind(new InetSocketAddress(InetAddress.getByName(listen.host()), listen.port()));
            return List.of(Line.ok(ID, subject, listen + " is free"));
        } catch (IOException e) {
            return List.of(Line.fail(
                    ID,
                    subject,
                    listen + " cannot be listened on: " + e.getMessage() + "; a running agent of this node has it too",
                    "ss -ltnp 'sport = :" + listen.port() + "'"));
        }
    }
}
