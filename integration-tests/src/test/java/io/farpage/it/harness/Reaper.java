package io.farpage.it.harness;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;

/**
 * A shell that outlives the test JVM by a moment: it is told which children there are, and kills those that are left
 * when its input ends, as it does even when the test JVM is killed.
 */
final class Reaper {
    private static final String SCRIPT = """
            pids=' '
            while read -r what pid; do
                case $what in
                    +) pids="$pids$pid " ;;
                    -) case $pids in *" $pid "*) pids="${pids%% $pid *} ${pids#* $pid }" ;; esac ;;
                esac
            done
            for pid in $pids; do kill -9 "$pid" 2>/dev/null; done
            """;

    private static final Reaper INSTANCE = new Reaper();

    private final Writer orders;

    private Reaper() {
        try {
            Process shell = new ProcessBuilder("sh", "-c", SCRIPT)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            orders = shell.outputWriter(StandardCharsets.US_ASCII);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static void watch(long pid) {
        INSTANCE.order("+", pid);
    }

    static void forget(long pid) {
        INSTANCE.order("-", pid);
    }

    private synchronized void order(String what, long pid) {
        try {
            orders.write(what + " " + pid + "\n");
            orders.flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
