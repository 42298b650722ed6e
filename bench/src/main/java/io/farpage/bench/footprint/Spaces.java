package io.farpage.bench.footprint;

import io.farpage.agent.control.guest.GuestRequest;
import io.farpage.agent.control.guest.GuestStatus;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.guest.command.CommandException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** Makes spaces and deletes them. Used by one thread. */
final class Spaces implements AutoCloseable {
    private static final Duration CALL = Duration.ofSeconds(60);
    private static final Duration END = Duration.ofSeconds(60);
    private static final long LOOK_MILLIS = 20;

    private final CoordinatorClient coordinator;

    Spaces(Bench bench) {
        coordinator = new CoordinatorClient(URI.create(bench.coordinator().url()), CALL);
    }

    @FunctionalInterface
    interface Request {
        void send(CoordinatorClient coordinator) throws CoordinatorException;
    }

    void ask(Request request) {
        try {
            request.send(coordinator);
        } catch (CoordinatorException e) {
            throw new CommandException(String.valueOf(e.getMessage()), e);
        }
    }

    /**
     * A guest of a space that exists already, or is made.
     *
     * @param bytes of the space that is made; empty if it exists
     * @param homes of its pages; empty if the space exists, or is thin
     * @param encrypted whether a space that is made is encrypted
     */
    static GuestRequest guest(Path socket, OptionalLong bytes, List<String> homes, boolean encrypted) {
        return new GuestRequest(
                socket.toString(),
                bytes,
                OptionalInt.empty(),
                homes.isEmpty() ? Optional.empty() : Optional.of(homes),
                homes.isEmpty() ? OptionalInt.empty() : OptionalInt.of(homes.size()),
                OptionalLong.empty(),
                OptionalInt.of(1),
                Optional.of(false),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                encrypted ? Optional.of(true) : Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty());
    }

    /** Waits until the guest of a space has ended. */
    static void awaitEnd(Agent agent, String space) throws InterruptedException {
        GuestStatus ended = agent.client()
                .awaitEnd(space, END)
                .orElseThrow(() -> new CommandException("the guest of %s has not ended after %d s: %s"
                        .formatted(space, END.toSeconds(), agent.child().lastWords())));
        if (ended.detail().contains("is not at its homes")) {
            throw new CommandException("the pages of %s could not be brought home: %s"
                    .formatted(space, agent.child().lastWords()));
        }
    }

    /** Waits until the guest of a space has ended, and deletes the space. */
    void delete(Agent agent, String space) throws InterruptedException {
        awaitEnd(agent, space);
        agent.client().detach(space);
        long end = System.nanoTime() + END.toNanos();
        while (isAttached(space)) {
            if (System.nanoTime() - end > 0) {
                throw new CommandException("%s is attached %d s after its guest has ended: %s"
                        .formatted(space, END.toSeconds(), agent.child().lastWords()));
            }
            Thread.sleep(LOOK_MILLIS);
        }
        ask(asked -> asked.deleteSpace(space));
    }

    private boolean isAttached(String space) {
        try {
            return !coordinator.attachments(space).isEmpty();
        } catch (CoordinatorException e) {
            throw new CommandException(String.valueOf(e.getMessage()), e);
        }
    }

    @Override
    public void close() {
        coordinator.close();
    }
}
