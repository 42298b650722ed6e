package io.farpage.bench.install;

import io.farpage.bench.baseline.BaselineProgram;
import io.farpage.guest.command.CommandException;
import io.farpage.guest.command.TimeSpan;
import io.farpage.guest.command.UsageException;
import io.farpage.pool.hugepages.HugepageReservation;
import io.farpage.pool.hugepages.HugepageSize;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code page-bench install}. */
@Command(
        name = "install",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description =
                "Installs pages of 2 MiB by UFFDIO_COPY and by UFFDIO_CONTINUE in alternation, in C, and prints a line"
                        + " of JSON with the ratio for each way in which a page can arrive. Needs userfaultfd(2) and"
                        + " hugepages.")
public final class InstallCommand implements Callable<Integer> {
    /** Three times the pages that the program works on, and one more. */
    private static final int HUGEPAGES = 49;

    private static final int MIN_ROUNDS = 20;
    private static final int MAX_ROUNDS = 1_000_000;

    @Option(
            names = "--rounds",
            defaultValue = "1000",
            description = "Pages by each way, 20 to 1000000; a tenth is not recorded (default: ${DEFAULT-VALUE})")
    private int rounds;

    @Option(
            names = "--timeout",
            defaultValue = "120s",
            converter = TimeSpan.class,
            description = "How long it may take (default: ${DEFAULT-VALUE})")
    private Duration timeout = Duration.ZERO;

    @Override
    public Integer call() throws InterruptedException, IOException {
        if (rounds < MIN_ROUNDS || rounds > MAX_ROUNDS) {
            throw new UsageException("--rounds " + rounds + ": must be from " + MIN_ROUNDS + " to " + MAX_ROUNDS);
        }
        Path directory = Files.createTempDirectory("farpage-install");
        try (HugepageReservation hugepages = HugepageReservation.additional(HugepageSize.TWO_MIB, HUGEPAGES)) {
            if (!hugepages.isSufficient()) {
                throw new CommandException(hugepages.description());
            }
            return switch (BaselineProgram.build(BaselineProgram.INSTALL, directory)) {
                case BaselineProgram.Unavailable(String reason) -> throw new CommandException(reason);
                case BaselineProgram.Built(Path program, Path _) -> run(program);
            };
        } finally {
            try (var files = Files.list(directory)) {
                for (Path file : files.toList()) {
                    Files.delete(file);
                }
            }
            Files.delete(directory);
        }
    }

    private int run(Path program) throws InterruptedException, IOException {
        Process process = new ProcessBuilder(List.of(program.toString(), Integer.toString(rounds)))
                .inheritIO()
                .start();
        try {
            if (!process.waitFor(timeout.toMillis(), TimeUnit.MILLISECONDS)) {
                throw new CommandException("install_baseline is not done after " + timeout.toSeconds() + " s");
            }
            return process.exitValue();
        } finally {
            process.destroyForcibly();
        }
    }
}
