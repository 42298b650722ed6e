package io.farpage.pool;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Runs a main class of the tests in a JVM of its own, with privileges taken away. */
public final class ChildJvm {
    /** Still root, but bound by RLIMIT_MEMLOCK, of 64 KiB. */
    public static final List<String> LITTLE_LOCKABLE =
            List.of("prlimit", "--memlock=65536:65536", "setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock");

    /** User 65534, which may read everything (the class path may be root's) and change nothing. */
    public static final List<String> NOBODY = List.of(
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--inh-caps=+dac_read_search",
            "--ambient-caps=+dac_read_search");

    private ChildJvm() {}

    /** The lines that the child printed; the test is skipped if the privileges cannot be taken away here. */
    public static List<String> run(List<String> prefix, Class<?> main, String... args)
            throws IOException, InterruptedException {
        if (!prefix.isEmpty()) {
            assumeTrue(canRun(prefix), "needs root, prlimit and setpriv: " + String.join(" ", prefix));
        }
        List<String> command = new ArrayList<>(prefix);
        command.addAll(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "@" + Path.of(System.getProperty("farpage.root"), "bin", "java-flags"),
                "-Xmx64m",
                "-cp",
                System.getProperty("java.class.path"),
                main.getName()));
        command.addAll(List.of(args));
        Path output = Files.createTempFile("child", ".txt");
        try {
            Process child = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(output.toFile())
                    .start();
            boolean ended = child.waitFor(60, TimeUnit.SECONDS);
            child.destroyForcibly();
            List<String> lines = Files.readAllLines(output);
            assertTrue(ended, () -> "the child did not end: " + lines);
            return lines;
        } finally {
            Files.delete(output);
        }
    }

    private static boolean canRun(List<String> prefix) throws IOException, InterruptedException {
        List<String> command = Stream.concat(prefix.stream(), Stream.of("true")).toList();
        try {
            Process probe = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
            return probe.waitFor(10, TimeUnit.SECONDS) && probe.exitValue() == 0;
        } catch (IOException e) {
            return false;
        }
    }
}
