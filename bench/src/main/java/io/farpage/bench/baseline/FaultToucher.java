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
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;

/**
 * The C program that touches memory which another process pages, an agent or a {@link FaultHandler}, or which is a
 * file. A process for each round, as only its end takes its memory away. Used by one thread.
 *
 * @param program as built
 * @param children whom it joins
 */
public record FaultToucher(Path program, Children children) {
    private static final Duration SLACK = Duration.ofSeconds(10);

    /** What is behind memory that is handed over. */
    public enum Backing {
        /** Shared memory of a file; an agent can evict from it. */
        MEMFD,
        /** Private memory, as Firecracker's. */
        ANONYMOUS
    }

    /** Where the memory comes from. */
    public sealed interface Memory {
        /** Its options. */
        List<String> options();
    }

    /**
     * Memory whose faults another process resolves.
     *
     * @param socket where the memory is handed over
     * @param bytes its size, if it is larger than all pages that may be touched; 0 if not
     * @param large whether it has pages of 2 MiB
     */
    public record Handed(Path socket, Backing backing, long bytes, boolean large) implements Memory {
        /** Memory as large as the pages that may be touched. */
        public Handed(Path socket, Backing backing) {
            this(socket, backing, 0, false);
        }

        @Override
        public List<String> options() {
            List<String> options = new ArrayList<>(List.of(
                    "--socket",
                    socket.toString(),
                    "--backing",
                    backing.name().toLowerCase(Locale.ROOT),
                    "--memory",
                    Long.toString(bytes)));
            if (large) {
                options.add("--large");
            }
            return options;
        }
    }

    /** Memory that is handed over to a {@link FaultHandler}: if that ends, the program ends, too, and does not wait. */
    public record HandedToC(Handed handed) implements Memory {
        @Override
        public List<String> options() {
            return Stream.concat(handed.options().stream(), Stream.of("--watch"))
                    .toList();
        }
    }

    /**
     * A private mapping of a file.
     *
     * @param cold whether its pages are dropped from the page cache first
     */
    public record Mapped(Path file, boolean cold) implements Memory {
        @Override
        public List<String> options() {
            List<String> options = new ArrayList<>(List.of("--file", file.toString()));
            if (cold) {
                options.add("--cold");
            }
            return options;
        }
    }

    /** Memory that the kernel has written to a swap device. */
    public record Swapped() implements Memory {
        @Override
        public List<String> options() {
            return List.of("--swap");
        }
    }

    /**
     * What to touch.
     *
     * @param pages that may be touched
     * @param touches how many of them are touched, each once
     * @param pattern sequential or random
     * @param threads that share the pages
     * @param warmup touches that are not recorded, at first
     * @param orderSeed of the random order
     * @param recheck whether to touch and check all of it once more, unrecorded
     */
    public record Walk(
            long pages, long touches, PagePattern pattern, int threads, long warmup, long orderSeed, boolean recheck) {
        /** One page, in the random order of a seed. */
        public static Walk ofOnePage(long pages, long orderSeed) {
            return new Walk(pages, 1, PagePattern.RANDOM, 1, 0, orderSeed, false);
        }

        private List<String> options() {
            List<String> options = new ArrayList<>(List.of(
                    "--touches",
                    Long.toString(touches),
                    "--pattern",
                    pattern.label(),
                    "--threads",
                    Integer.toString(threads),
                    "--warmup",
                    Long.toString(warmup),
                    "--order-seed",
                    Long.toUnsignedString(orderSeed)));
            if (recheck) {
                options.add("--recheck");
            }
            return options;
        }
    }

    /**
     * Where, and with what content.
     *
     * @param seed of page content
     * @param cpu where all threads run; wherever the kernel puts them, if it is empty
     * @param timeout after which the program gives up
     */
    public record Setting(Memory memory, long seed, OptionalInt cpu, Duration timeout) {
        /** The same with other memory. */
        public Setting with(Memory other) {
            return new Setting(other, seed, cpu, timeout);
        }

        /** The same on a CPU. */
        public Setting on(int one) {
            return new Setting(memory, seed, OptionalInt.of(one), timeout);
        }
    }

    /** Touches the pages, and checks what they hold. */
    public BaselineProcess.Measured touch(Setting setting, Walk walk) throws InterruptedException {
        return RoundJson.parse(run(command(setting, walk), setting.timeout()));
    }

    /** Writes the pages' content into them. */
    public void fill(Setting setting, long pages) throws InterruptedException {
        List<String> command = command(setting, pages);
        command.add("--fill");
        run(command, setting.timeout());
    }

    /** Starts the program, which maps its memory and touches the pages when it is told to. */
    public HeldToucher arm(Setting setting, Walk walk) {
        List<String> command = command(setting, walk);
        command.add("--armed");
        return new HeldToucher(children.launch("toucher", command, true), setting.timeout());
    }

    /**
     * As {@link #arm}, of a file. The program writes to some pages in the end, and lives until it is closed.
     *
     * @param dirty pages to write to
     */
    public HeldToucher hold(Setting setting, Walk walk, long dirty) {
        List<String> command = command(setting, walk);
        command.addAll(List.of("--armed", "--hold", "--dirty", Long.toString(dirty)));
        return new HeldToucher(children.launch("toucher", command, true), setting.timeout());
    }

    /**
     * Starts the program, which writes the pages' content into them once and then lives until it is closed. Does not
     * wait for the pages: {@link HeldToucher#awaitFilled} does.
     */
    public HeldToucher fillAndHold(Setting setting, long pages) {
        List<String> command = command(setting, pages);
        command.addAll(List.of("--fill", "--hold"));
        return new HeldToucher(children.launch("toucher", command, true), setting.timeout());
    }

    /**
     * Starts the program, which writes all pages in their order again and again.
     *
     * @return when it has written all of them once
     */
    public StreamingToucher stream(Setting setting, long pages) throws InterruptedException {
        List<String> command = command(setting, pages);
        command.add("--stream");
        StreamingToucher started = new StreamingToucher(
                children.launch("stream", command, true), setting.timeout().plus(SLACK));
        started.awaitFirstPass();
        return started;
    }

    private List<String> command(Setting setting, Walk walk) {
        List<String> command = command(setting, walk.pages());
        command.addAll(walk.options());
        return command;
    }

    private List<String> command(Setting setting, long pages) {
        List<String> command = new ArrayList<>(List.of(program.toString()));
        command.addAll(setting.memory().options());
        command.addAll(List.of(
                "--pages",
                Long.toString(pages),
                "--seed",
                Long.toUnsignedString(setting.seed()),
                "--timeout",
                Long.toString(setting.timeout().toSeconds())));
        setting.cpu().ifPresent(cpu -> command.addAll(List.of("--cpu", Integer.toString(cpu))));
        return command;
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
