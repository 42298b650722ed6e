package io.farpage.bench.process;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;

/** One line that tells how far the benchmark is, on a terminal; nothing elsewhere. */
public final class Progress implements AutoCloseable {
    private static final String CLEAR = "\r\u001b[K";

    private final PrintStream out;
    private final boolean shown;

    private Progress(PrintStream out, boolean shown) {
        this.out = out;
        this.shown = shown;
    }

    public static Progress onStandardOutput() {
        return new Progress(System.out, isTerminal());
    }

    private static boolean isTerminal() {
        try {
            String target = Files.readSymbolicLink(Path.of("/proc/self/fd/1")).toString();
            return target.startsWith("/dev/pts/") || target.startsWith("/dev/tty");
        } catch (IOException unknown) {
            return false;
        }
    }

    public void show(String what) {
        if (shown) {
            out.print(CLEAR + what);
            out.flush();
        }
    }

    /** Takes the line away, so that what is printed next stands alone. */
    @Override
    public void close() {
        show("");
    }
}
