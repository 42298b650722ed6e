package io.farpage.bench.baseline;

import io.farpage.bench.pattern.PagePattern;
import io.farpage.bench.process.Child;
import io.farpage.bench.process.Children;
import io.farpage.guest.command.CommandException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The C program that touches memory which another process pages: an agent, or a {@link FaultHandler}. A process for
 * each round, as only its end takes its memory away. Used by one thread.
 *
 * @param program as built
 * @param children whom it joins
 */
public record FaultToucher(Path program, Children children) {
    private static final Duration SLACK = Duration.ofSeconds(10);

    /** What is behind the memory. */
    public enum Backing {
        /** Shared memory of a file; an agent can evict from it. */
        MEMFD,
        /** Private memory, as Firecracker's. */
        ANONYMOUS
    }

    /**
     * What to touch.
     *
     * @param pages each touched once
     * @param pattern sequential or random
     * @param threads that share the pages
     * @param warmup touches that are not recorded, at first
     * @param orderSeed of the random order
     * @param recheck whether to touch and check all of it once more, unrecorded
     */
    public record Walk(long pages, PagePattern pattern, int threads, long warmup, long orderSeed, boolean recheck) {}

    /**
     * Where, and with what content.
     *
     * @param socket where the memory is handed over
     * @param seed of page content
     * @param cpu where all threads run
     * @param timeout after which the program gives up
     */
    public record Setting(Path socket, Backing backing, long seed, int cpu, Duration timeout) {}

    /** Touches the pages, and checks what they hold. */
    public BaselineProcess.Measured touch(Setting setting, Walk walk) throws InterruptedException {
        List<String> command = command(setting, walk.pages());
        command.addAll(List.of(
                "--pattern",
                walk.pattern().label(),
                "--threads",
                Integer.toString(walk.threads()),
                "--warmup",
                Long.toString(walk.warmup()),
                "--order-seed",
                Long.toUnsignedString(walk.orderSeed())));
        if (walk.recheck()) {
            command.add("--recheck");
        }
        return RoundJson.parse(run(command, setting.timeout()));
    }

    /** Writes the pages' content into them. */
    public void fill(Setting setting, long pages) throws InterruptedException {
        List<String> command = command(setting, pages);
        command.add("--fill");
        run(command, setting.timeout());
    }

    private List<String> command(Setting setting, long pages) {
        return new ArrayList<>(List.of(
                program.toString(),
                "--socket",
                setting.socket().toString(),
                "--backing",
                setting.backing().name().toLowerCase(Locale.ROOT),
                "--pages",
                Long.toString(pages),
                "--seed",
                Long.toUnsignedString(setting.seed()),
                "--cpu",
                Integer.toString(setting.cpu()),
                "--timeout",
                Long.toString(setting.timeout().toSeconds())));
    }

    private String run(List<String> command, Duration timeout) throws InterruptedException {
        Child child = children.launch("toucher", command, true);
        try (var reader = Executors.newVirtualThreadPerTaskExecutor()) {
            CompletableFuture<String> said = CompletableFuture.supplyAsync(() -> readAll(child), reader);
            String text;
            try {
                text = said.get(timeout.plus(SLACK).toMillis(), TimeUnit.MILLISECONDS);
            } catch (TimeoutException e) {
                throw new CommandException(
                        "the toucher is not done after " + timeout.plus(SLACK).toSeconds() + " s", e);
            } catch (ExecutionException e) {
                throw new CommandException("the toucher cannot be heard: " + e.getCause(), e);
            } finally {
                child.awaitEnd(said.isDone() ? SLACK : Duration.ZERO);
            }
            if (child.process().exitValue() != 0) {
                throw new CommandException(child.lastWords());
            }
            return text.strip();
        }
    }

    private static String readAll(Child child) {
        try (InputStream out = child.process().getInputStream()) {
            return new String(out.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException gone) {
            return "";
        }
    }
}
