package io.farpage.agent.control.guest;

import io.farpage.it.simulation.guest.Handoffs;
import java.util.List;

/** In place of the class of the same name: what a simulated VMM hands over. */
final class HandoffConnection implements AutoCloseable {
    private final Handoffs.Message message;

    record Message(String json, List<Integer> descriptors, int pid) {}

    HandoffConnection(Handoffs.Message message) {
        this.message = message;
    }

    HandoffPeer peer() {
        return new HandoffPeer(message.pid(), 0, 0, "");
    }

    Message message() throws HandoffException {
        return new Message(message.json(), message.descriptors(), message.pid());
    }

    void refuse(String reason) {
        message.refused(reason);
    }

    @Override
    public void close() {}
}
