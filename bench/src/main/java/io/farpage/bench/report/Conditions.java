package io.farpage.bench.report;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.RuntimeMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What a report's figures were taken under.
 *
 * @param kernel name, release and architecture
 * @param cpuModel as the kernel names it
 * @param cpus that the JVM may use
 * @param jvm vendor, name and version
 * @param jvmFlags as given on the command line
 * @param startedAt when the benchmark began
 * @param seed of page content and patterns
 * @param gitRevision of the working tree, with {@code -dirty} where it has changes; null outside one
 */
public record Conditions(
        String kernel,
        String cpuModel,
        int cpus,
        String jvm,
        List<String> jvmFlags,
        Instant startedAt,
        long seed,
        @Nullable String gitRevision) {
    private static final long GIT_DEADLINE_SECONDS = 5;

    public Conditions {
        jvmFlags = List.copyOf(jvmFlags);
    }

    /** Those of this machine, this JVM and this moment; {@code sources} is asked for its git revision. */
    public static Conditions ofThisMachine(long seed, Path sources) {
        RuntimeMXBean jvm = ManagementFactory.getRuntimeMXBean();
        return new Conditions(
                String.join(
                        " ",
                        System.getProperty("os.name"),
                        System.getProperty("os.version"),
                        System.getProperty("os.arch")),
                readCpuModel(),
                Runtime.getRuntime().availableProcessors(),
                jvm.getVmVendor() + " " + jvm.getVmName() + " " + jvm.getVmVersion(),
                jvm.getInputArguments(),
                Instant.now().truncatedTo(ChronoUnit.SECONDS),
                seed,
                askGit(sources).orElse(null));
    }

    private static String readCpuModel() {
        try {
            return Files.readAllLines(Path.of("/proc/cpuinfo")).stream()
                    .filter(line -> line.startsWith("model name"))
                    .findFirst()
                    .map(line -> line.substring(line.indexOf(':') + 1).strip())
                    .orElse("unknown");
        } catch (IOException unreadable) {
            return "unknown";
        }
    }

    /** Empty where there is no git, no repository or no answer in time: a report is worth having without. */
    private static Optional<String> askGit(Path sources) {
        try {
            Process git = new ProcessBuilder(
                            "git", "-C", sources.toString(), "describe", "--always", "--dirty", "--abbrev=12")
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            try {
                boolean ended = git.waitFor(GIT_DEADLINE_SECONDS, TimeUnit.SECONDS) && git.exitValue() == 0;
                return ended ? git.inputReader().lines().findFirst() : Optional.empty();
            } finally {
                git.destroyForcibly();
            }
        } catch (IOException noGit) {
            return Optional.empty();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        }
    }
}
