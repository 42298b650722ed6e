package io.farpage.bench.process;

import java.io.IOException;
import java.io.Writer;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * A shell that outlives this process by a moment, however the process ends. At the end of its standard input the shell
 * kills the processes that were added, unmounts what they have mounted, removes a zram device and a directory, and
 * takes back the hugepages that are still borrowed. A shutdown hook cannot do that after SIGKILL. Thread-safe.
 */
final class Watchdog implements AutoCloseable {
    private static final long FAREWELL_SECONDS = 5;

    /**
     * +PID adds a process to kill, -PID takes it out, =COUNT says how many hugepages are borrowed, %ID which zram
     * device is swapped to, and a path is where a file system is mounted until the end. Ctrl-C reaches the whole
     * process group, and must not end this.
     */
    private static final String SCRIPT = """
            trap '' INT TERM HUP
            all=' '
            borrowed=0
            mounted=
            zram=
            while read -r line; do
                pid=${line#?}
                count=$pid
                case $line in
                    +*) all="$all$pid " ;;
                    -*) all="${all%% "$pid" *} ${all#* "$pid" }" ;;
                    =*) borrowed=$count ;;
                    %*) zram=$count ;;
                    /*) mounted=$line ;;
                esac
            done
            for pid in $all; do kill -KILL "$pid" 2>/dev/null; done
            [ -z "$mounted" ] || umount -l "$mounted" 2>/dev/null
            if [ -n "$zram" ]; then
                swapoff "/dev/zram$zram" 2>/dev/null
                echo "$zram" >/sys/class/zram-control/hot_remove
            fi
            rm -rf -- "$1"
            [ "$borrowed" = 0 ] || echo $(($(cat "$2") - borrowed)) >"$2"
            """;

    private final Process shell;
    private final Writer lines;

    private Watchdog(Process shell) {
        this.shell = shell;
        this.lines = shell.outputWriter();
    }

    /**
     * Starts it.
     *
     * @param directory to remove
     * @param hugepages the kernel's file with the number of reserved hugepages
     */
    static Watchdog start(Path directory, Path hugepages) throws IOException {
        return new Watchdog(new ProcessBuilder(
                        "/bin/sh", "-c", SCRIPT, "farpage-watchdog", directory.toString(), hugepages.toString())
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start());
    }

    void add(long pid) throws IOException {
        say("+" + pid);
    }

    void remove(long pid) throws IOException {
        say("-" + pid);
    }

    /** Says by how many hugepages the kernel's number is raised on account of this process. */
    void borrowed(long hugepages) throws IOException {
        say("=" + hugepages);
    }

    /** Says where a process mounts a file system, which it may leave if it is killed; one directory at most. */
    void mounted(Path directory) throws IOException {
        say(directory.toAbsolutePath().toString());
    }

    /** Says which zram device is swapped to, or that none is. */
    void swapped(Optional<Integer> zram) throws IOException {
        say("%" + zram.map(String::valueOf).orElse(""));
    }

    private synchronized void say(String line) throws IOException {
        lines.write(line + "\n");
        lines.flush();
    }

    /**
     * Makes the shell kill the processes that are left and remove the directory, and waits for its end. Borrowed
     * hugepages stay: this process continues, and its reservations give them back.
     */
    @Override
    public void close() {
        try {
            borrowed(0);
        } catch (IOException gone) {
            // The shell has ended already.
        }
        hangUp();
    }

    /** Closes the standard input of the shell, as the end of this process does. */
    void hangUp() {
        try {
            synchronized (this) {
                lines.close();
            }
            if (!shell.waitFor(FAREWELL_SECONDS, TimeUnit.SECONDS)) {
                shell.destroyForcibly();
            }
        } catch (IOException gone) {
            shell.destroyForcibly();
        } catch (InterruptedException interrupted) {
            shell.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
