package io.farpage.bench.fault;

import io.farpage.bench.baseline.BaselineProcess;
import io.farpage.bench.baseline.FaultHandler;
import io.farpage.bench.process.Child;
import io.farpage.bench.process.Children;
import io.farpage.guest.command.CommandException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * A server of pages that this command has started, and the handler in C that fetches from it. Both are off the CPU
 * outside of their rounds. Used by one thread.
 */
final class PeerServer implements AutoCloseable {
    private final Child server;
    private final FaultHandler handler;

    private PeerServer(Child server, FaultHandler handler) {
        this.server = server;
        this.handler = handler;
    }

    /**
     * Starts both, and stores the pages in the server.
     *
     * @param placed runs a program on a CPU
     * @param handlers start the handler
     */
    static PeerServer start(
            Peer peer, Children children, FaultPlan plan, FaultScenario scenario, Path placed, Handlers handlers)
            throws InterruptedException {
        int port = freePort();
        List<String> command = new ArrayList<>(List.of(
                placed.toString(),
                Integer.toString(scenario.placement().homeCpu()),
                Integer.toString(Handlers.priority(scenario))));
        command.addAll(peer.command(port, plan.bytes(), children.scratch()));
        Child server = children.launch(peer.label() + " of " + scenario.idle().label(), command, false);
        try {
            FaultHandler handler =
                    handlers.start(scenario, peer.label(), List.of(peer.protocol(), Integer.toString(port)));
            server.pause();
            return new PeerServer(server, handler);
        } catch (CommandException e) {
            boolean ended = !server.isAlive();
            server.close();
            throw ended ? new CommandException(server.lastWords(), e) : e;
        }
    }

    private static int freePort() {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        } catch (IOException e) {
            throw new CommandException("no TCP port of 127.0.0.1 is free: " + e.getMessage(), e);
        }
    }

    /** A round of a toucher that hands its memory over to the handler. */
    interface Round {
        BaselineProcess.Measured touch(Path handler) throws InterruptedException;
    }

    BaselineProcess.Measured whileRunning(Round round) throws InterruptedException {
        server.resume();
        try {
            return round.touch(handler.socket());
        } catch (CommandException e) {
            throw handler.lastWords().map(why -> new CommandException(why, e)).orElse(e);
        } finally {
            server.pause();
        }
    }

    List<Long> processes() {
        return Stream.concat(handler.processes().stream(), Stream.of(server.pid()))
                .toList();
    }

    @Override
    public void close() {
        server.resume();
        handler.close();
        server.close();
    }
}
