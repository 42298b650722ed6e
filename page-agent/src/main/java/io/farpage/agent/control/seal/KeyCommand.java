package io.farpage.agent.control.seal;

import io.farpage.log.Printable;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Keys of a key service, through a program. The program gets the id of a key as its last argument, or {@code current}
 * for the key of new spaces, and writes the key to its standard output.
 */
final class KeyCommand implements KeySource {
    private static final String CURRENT = "current";
    private static final int MAX_OUTPUT = 4096;
    private static final int MAX_REASON = 200;

    private final List<String> command;
    private final Duration deadline;

    /** @param command the program and its first arguments, not empty */
    KeyCommand(List<String> command, Duration deadline) {
        this.command = List.copyOf(command);
        this.deadline = deadline;
    }

    @Override
    public SpaceKey current() throws SealException {
        return run(CURRENT);
    }

    @Override
    public SpaceKey byId(String id) throws SealException {
        return run(id);
    }

    private SpaceKey run(String which) throws SealException {
        List<String> words = new ArrayList<>(command);
        words.add(which);
        String name = "'" + String.join(" ", words) + "' (seal.key_command)";
        Process process;
        try {
            process = new ProcessBuilder(words).start();
            process.getOutputStream().close();
        } catch (IOException e) {
            throw new SealException(name + " cannot be run: " + e.getMessage(), e);
        }
        try {
            CompletableFuture<byte[]> key = output(process.getInputStream());
            CompletableFuture<byte[]> errors = output(process.getErrorStream());
            if (!process.waitFor(deadline.toMillis(), TimeUnit.MILLISECONDS)) {
                throw late(name);
            }
            if (process.exitValue() != 0) {
                throw new SealException(
                        "%s ended with %d: %s".formatted(name, process.exitValue(), reason(await(errors, name))));
            }
            return SpaceKey.read(await(key, name), "the answer of " + name);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new SealException(name + " was not waited for: the agent is shutting down", e);
        } finally {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
    }

    private byte[] await(CompletableFuture<byte[]> output, String name) throws InterruptedException, SealException {
        try {
            return output.get(deadline.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            throw new SealException(name + ": its output cannot be read: " + e.getCause(), e);
        } catch (TimeoutException e) {
            throw late(name);
        }
    }

    private SealException late(String name) {
        return new SealException("%s did not end within %s (seal.key_deadline)".formatted(name, deadline));
    }

    private static CompletableFuture<byte[]> output(java.io.InputStream from) {
        CompletableFuture<byte[]> all = new CompletableFuture<>();
        Thread.ofVirtual().name("key-command").start(() -> {
            try (from) {
                all.complete(from.readNBytes(MAX_OUTPUT));
            } catch (IOException e) {
                all.completeExceptionally(e);
            }
        });
        return all;
    }

    private static String reason(byte[] errors) {
        String text = Printable.of(new String(errors, StandardCharsets.UTF_8).strip());
        return text.isEmpty() ? "it wrote no reason" : text.substring(0, Math.min(text.length(), MAX_REASON));
    }
}
