package io.farpage.it.harness;

import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** What jcmd does to another JVM. */
public final class JvmCommands {
    private static final int PATIENCE_SECONDS = 20;

    private JvmCommands() {}

    /**
     * Has a JVM collect its garbage, all of it, as System.gc() does there, and waits until it has.
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
        if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            throw new AssertionError(
                    "a collection in process " + pid + " did not end within " + PATIENCE_SECONDS + " s");
        }
        return process.exitValue() == 0;
    }
}
