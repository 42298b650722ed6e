package io.farpage.coordinator.etcd;

import io.etcd.jetcd.Client;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * The members of an etcd cluster. One is called first for as long as it answers. Each has a client of its own: a single
 * client of several members sends a part of its calls to a member that is cut off, for as long as its connection to
 * that member looks whole. Thread-safe.
 */
final class Members implements AutoCloseable {

    private final List<Client> clients;
    private volatile Client current;

    /** Takes over the clients, which {@link #close} closes. */
    Members(List<Client> clients) {
        this.clients = List.copyOf(clients);
        this.current = this.clients.getFirst();
    }

    /** Connects to each endpoint with what {@code connect} makes of it. */
    static Members of(List<String> endpoints, Function<String, Client> connect) {
        return new Members(endpoints.stream().map(connect).toList());
    }

    /** All of them, the present one first. */
    List<Client> inTurn() {
        int first = clients.indexOf(current);
        return Stream.concat(clients.stream().skip(first), clients.stream().limit(first))
                .toList();
    }

    /** Calls this member first from now on. */
    void prefer(Client answered) {
        current = answered;
    }

    /** Switches from a member that failed to the next one. If several calls fail at one member, the first switches. */
    synchronized void leave(Client failed) {
        if (current.equals(failed)) {
            current = clients.get((clients.indexOf(failed) + 1) % clients.size());
        }
    }

    @Override
    public void close() {
        clients.forEach(Client::close);
    }
}
