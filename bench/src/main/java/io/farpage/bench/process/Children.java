package io.farpage.bench.process;

import io.farpage.guest.command.CommandException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * All programs that run beside this one, and a temporary directory for them. They end with this process: on
 * {@link #close()}, on a signal through a shutdown hook, and on SIGKILL through a {@link Watchdog}.
 */
public final class Children implements AutoCloseable {
    private static final Path HUGEPAGES = Path.of("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages");

    private final Programs programs;
    private final Path logs;
    private final Path scratch;
    private final Duration startTimeout;
    private final Watchdog watchdog;
    private final List<Child> all = new CopyOnWriteArrayList<>();
    private final Thread hook = new Thread(this::killAll, "end children");
    private volatile boolean ending;

    private Children(Programs programs, Path logs, Path scratch, Duration startTimeout, Watchdog watchdog) {
        this.programs = programs;
        this.logs = logs;
        this.scratch = scratch;
        this.startTimeout = startTimeout;
        this.watchdog = watchdog;
    }

    /**
     * Makes ready to start programs.
     *
     * @param logs directory for the children's logs, made if need be
     * @param startTimeout how long each may take to be ready
     */
    public static Children open(Programs programs, Path logs, Duration startTimeout) {
        try {
            Files.createDirectories(logs);
            Path scratch = Files.createTempDirectory("farpage-bench");
            Children children = new Children(
                    programs, logs.toAbsolutePath(), scratch, startTimeout, Watchdog.start(scratch, HUGEPAGES));
            Runtime.getRuntime().addShutdownHook(children.hook);
            return children;
        } catch (IOException e) {
            throw new CommandException("cannot prepare to start other programs: " + e, e);
        }
    }

    /** A directory that goes away with the children. */
    public Path scratch() {
        return scratch;
    }

    /** Has hugepages of 2 MiB put back if this process is killed before it can do so itself. */
    public void borrowed(long hugepages) {
        say(() -> watchdog.borrowed(hugepages));
    }

    /** Has a directory unmounted at the end, where a child mounts a file system; one directory at most. */
    public void mounted(Path directory) {
        say(() -> watchdog.mounted(directory));
    }

    /** Has a zram device turned off and removed at the end, if this process is killed before; one at most. */
    public void swapped(Optional<Integer> zram) {
        say(() -> watchdog.swapped(zram));
    }

    @FunctionalInterface
    private interface Word {
        void say() throws IOException;
    }

    private static void say(Word word) {
        try {
            word.say();
        } catch (IOException e) {
            throw new CommandException("the shell that cleans up after this process is gone: " + e.getMessage(), e);
        }
    }

    /** Whether this process is being ended by a signal, so that what fails now fails because of that. */
    public boolean isEnding() {
        return ending;
    }

    /**
     * Starts a program. Its standard error goes to a log; so does its standard output, unless it is {@code spoken}
     * with.
     *
     * @param name for messages and the name of its log
     */
    public Child start(String name, String program, List<String> arguments, boolean spoken) {
        return start(name, program, List.of(), arguments, spoken);
    }

    /** As {@link #start(String, String, List, boolean)}, with flags of the JVM. */
    public Child start(String name, String program, List<String> jvmFlags, List<String> arguments, boolean spoken) {
        List<String> command = new ArrayList<>(programs.command(program, jvmFlags));
        command.addAll(arguments);
        return launch(name, command, spoken);
    }

    /** As {@link #start}, with the words of a command. */
    public Child launch(String name, List<String> command, boolean spoken) {
        Path log = logs.resolve(name.replace(' ', '-') + ".log");
        ProcessBuilder builder = new ProcessBuilder(command).redirectError(log.toFile());
        if (!spoken) {
            builder.redirectErrorStream(true).redirectOutput(log.toFile());
        }
        try {
            Process process = builder.start();
            Child child = new Child(name, process, log, startTimeout, watchdog);
            all.add(child);
            watchdog.add(process.pid());
            if (ending) {
                child.kill();
            }
            return child;
        } catch (IOException e) {
            throw new CommandException("cannot start the " + name + ": " + e.getMessage(), e);
        }
    }

    private void killAll() {
        ending = true;
        all.forEach(Child::kill);
        watchdog.close();
    }

    @Override
    public void close() {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException shuttingDown) {
            return;
        }
        all.forEach(Child::kill);
        watchdog.close();
    }
}
