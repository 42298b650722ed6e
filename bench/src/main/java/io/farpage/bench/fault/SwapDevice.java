package io.farpage.bench.fault;

import io.farpage.bench.process.Children;
import io.farpage.guest.command.CommandException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A zram device of this host to swap to (Documentation/admin-guide/blockdev/zram.rst): added for this process, and
 * removed at its end however it ends. Other programs of the host may swap to it while it is on, which is during rounds
 * only. Used by one thread.
 */
final class SwapDevice implements AutoCloseable {
    private static final Path CONTROL = Path.of("/sys/class/zram-control");
    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final List<String> PROGRAMS = List.of("mkswap", "swapon", "swapoff");
    private static final String HIGHEST_PRIORITY = "32767";
    /** For the header of the swap area, and for pages of other programs. */
    private static final long MORE_BYTES = 16L << 20;

    private final Children children;
    private final int id;

    private SwapDevice(Children children, int id) {
        this.children = children;
        this.id = id;
    }

    /**
     * What is missing to add one; empty if nothing is.
     *
     * @param path as of {@link Peer#missing}
     */
    static Optional<String> missing(String path) {
        if (!Files.isWritable(CONTROL.resolve("hot_remove"))) {
            return Optional.of(
                    Files.exists(CONTROL)
                            ? "a zram device takes root"
                            : "the kernel has no " + CONTROL + "; modprobe zram, or boot a kernel with CONFIG_ZRAM");
        }
        return PROGRAMS.stream()
                .filter(program -> Peer.find(program, path).isEmpty())
                .findFirst()
                .map(program -> program + " is not on the PATH; install it with apt-get install util-linux mount");
    }

    /** Adds one that has room for {@code bytes}. */
    static SwapDevice add(Children children, long bytes) throws InterruptedException {
        try {
            int id = Integer.parseInt(
                    Files.readString(CONTROL.resolve("hot_add")).strip());
            children.swapped(Optional.of(id));
            SwapDevice added = new SwapDevice(children, id);
            boolean made = false;
            try {
                Files.writeString(Path.of("/sys/block/zram" + id + "/disksize"), Long.toString(bytes + MORE_BYTES));
                run("mkswap", added.device());
                made = true;
                return added;
            } finally {
                if (!made) {
                    added.close();
                }
            }
        } catch (IOException e) {
            throw new CommandException("cannot add a zram device: " + e.getMessage(), e);
        }
    }

    private String device() {
        return "/dev/zram" + id;
    }

    /** Has the host swap to it before all other devices. */
    void on() throws InterruptedException {
        run("swapon", "-p", HIGHEST_PRIORITY, device());
    }

    /** Reads what is on it back into memory. */
    void off() throws InterruptedException {
        run("swapoff", device());
    }

    private static void run(String... command) throws InterruptedException {
        try {
            Process process = new ProcessBuilder(Stream.concat(
                                    Peer.find(command[0], Peer.path()).map(Path::toString).stream(),
                                    Stream.of(command).skip(1))
                            .toList())
                    .redirectErrorStream(true)
                    .start();
            try {
                if (!process.waitFor(TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)) {
                    throw new CommandException(
                            String.join(" ", command) + ": not done after " + TIMEOUT.toSeconds() + " s");
                }
                if (process.exitValue() != 0) {
                    throw new CommandException(String.join(" ", command) + ": exit code " + process.exitValue() + ": "
                            + process.inputReader().readLine());
                }
            } finally {
                process.destroyForcibly();
            }
        } catch (IOException e) {
            throw new CommandException(String.join(" ", command) + ": " + e.getMessage(), e);
        }
    }

    /** Removes it; it must be off. */
    @Override
    public void close() {
        try {
            Files.writeString(CONTROL.resolve("hot_remove"), Integer.toString(id));
            children.swapped(Optional.empty());
        } catch (IOException e) {
            throw new CommandException(
                    "cannot remove " + device() + ": " + e.getMessage() + "; swapoff " + device() + " and write " + id
                            + " to " + CONTROL + "/hot_remove",
                    e);
        }
    }
}
