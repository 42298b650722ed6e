package io.farpage.it.harness;

import io.farpage.it.deadlines.Deadlines;
import java.io.IOException;
import java.nio.file.Path;

/** What jcmd does to another JVM. */
public final class JvmCommands {
    private JvmCommands() {}

    /**
     * Runs a full garbage collection in a JVM, as System.gc() does there, and waits for its end.
     *
     * @return false if it has ended
     * @throws AssertionError if the collection does not end
     */
    public static boolean collectGarbage(long pid) throws IOException, InterruptedException {
        Path jcmd = Path.of(System.getProperty("java.home"), "bin", "jcmd");
        Process process = new ProcessBuilder(jcmd.toString(), Long.toString(pid), "GC.run")
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        try {
            return Deadlines.exit("a collection in process " + pid, Deadlines.LONG, process) == 0;
        } finally {
            process.destroyForcibly();
        }
    }
}
