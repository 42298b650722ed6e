package io.farpage.agent.control.guest;

import io.farpage.it.simulation.guest.Handoffs;
import java.util.List;

/** In place of the class of the same name: what a simulated VMM hands over. */
final class HandoffConnection implements AutoCloseable {
    private final Handoffs.Connection connection;

    record Message(String json, List<Integer> descriptors, int pid) {}

    HandoffConnection(Handoffs.Connection connection) {
        this.connection = connection;
    }

    HandoffPeer peer() {
        return new HandoffPeer(connection.message().pid(), 0, 0, "");
    }

    Message message() throws HandoffException {
        Handoffs.Message sent = connection.message();
        return new Message(sent.json(), sent.descriptors(), sent.pid());
    }

    void taken() {
        connection.read();
    }

    void refuse(String reason) {
        connection.refuse(reason);
    }

    @Override
    public void close() {
        connection.close();
    }
}
