package io.farpage.agent.command;

import io.farpage.agent.client.AgentClient;
import io.farpage.agent.client.AgentTarget;
import io.farpage.agent.client.NoAgentException;
import io.farpage.progress.Progress;
import io.farpage.progress.ProgressOption;
import io.farpage.progress.Unit;
import io.farpage.rest.Operation.Target;
import io.farpage.tls.TlsException;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.Optional;

/** Moves a file to or from an agent, for a command that ends with an exit code and says on its error output why. */
final class FileTransfer {
    private static final int REFUSED = 1;
    private static final Duration TIMEOUT = Duration.ofHours(1);

    private final AgentTarget target;
    private final ProgressOption progressOption;
    private final PrintWriter err;

    FileTransfer(AgentTarget target, ProgressOption progressOption, PrintWriter err) {
        this.target = target;
        this.progressOption = progressOption;
        this.err = err;
    }

    /** Writes what an agent answers to a file. */
    @FunctionalInterface
    interface Receiver {
        /**
         * Writes it.
         *
         * @throws IOException also if the answer is incomplete
         */
        void receive(InputStream from, Path to, Progress progress) throws IOException;
    }

    private int refuse(String why) {
        err.println("page-agent: " + why);
        return REFUSED;
    }

    /**
     * Saves an answer to a file, which is replaced when all is there.
     *
     * @param what the command does, such as "save"
     */
    int receive(Target<?, ?> from, String what, String type, Path file, Receiver receiver) throws InterruptedException {
        Path part = file.resolveSibling(file.getFileName() + ".part");
        try (AgentClient client = target.caller().open(TIMEOUT)) {
            try (AgentClient.Answer answer = client.send(from, type, AgentClient.Bytes.NONE)) {
                if (answer.status() != 200) {
                    return refuse(
                            AgentTarget.detail(answer.status(), answer.body().readAllBytes()));
                }
                try (Progress progress = progressOption.start(what + " " + target.name(), Unit.BYTES)) {
                    answer.header("Content-Length").map(Long::valueOf).ifPresent(progress::total);
                    receiver.receive(answer.body(), part, progress);
                    Files.move(part, file, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
                    progress.finish();
                }
            }
            return 0;
        } catch (IOException e) {
            delete(part);
            return refuse("space " + target.name() + " is not saved: " + e.getMessage());
        } catch (NoAgentException | TlsException e) {
            return refuse(String.valueOf(e.getMessage()));
        }
    }

    private void delete(Path part) {
        try {
            Files.deleteIfExists(part);
        } catch (IOException e) {
            err.println("page-agent: " + part + " is not removed: " + e);
        }
    }

    /** Sends a file as the body of a request. */
    int send(Target<?, ?> to, String what, String type, Path file) throws InterruptedException {
        try (AgentClient client = target.caller().open(TIMEOUT)) {
            // The line of the progress is gone when a refusal is printed.
            return send(client, to, what, type, file).map(this::refuse).orElse(0);
        } catch (IOException e) {
            return refuse("space " + target.name() + " is not loaded: " + e);
        } catch (NoAgentException | TlsException e) {
            return refuse(String.valueOf(e.getMessage()));
        }
    }

    /** Why the agent has refused it, if it has. */
    private Optional<String> send(AgentClient client, Target<?, ?> to, String what, String type, Path file)
            throws IOException, InterruptedException {
        long size = Files.size(file);
        try (Progress progress = progressOption.start(what + " " + target.name(), Unit.BYTES)) {
            progress.total(size);
            try (AgentClient.Answer answer = client.send(to, type, new AgentClient.Content(file, progress::advance))) {
                byte[] content = answer.body().readAllBytes();
                if (answer.status() / 100 != 2) {
                    return Optional.of(AgentTarget.detail(answer.status(), content));
                }
                progress.done(size);
                progress.finish();
                return Optional.empty();
            }
        }
    }
}
