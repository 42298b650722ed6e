package io.farpage.bench.baseline;

import io.farpage.guest.command.CommandException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * The C program that sends 64 bytes to another process and gets 4160 bytes back, one message after the other. Two
 * processes for each round, which end with it. Used by one thread.
 *
 * @param program as built
 * @param askerCpu where the process runs that asks
 * @param answererCpu where the other one runs
 * @param priority real-time priority of both, where it is permitted; 0: none
 * @param port RDMA device of both, with index 0 of its GIDs if none is given; over TCP, if empty
 */
public record MessageBaseline(
        Path program,
        BaselineSettings.Mode mode,
        int askerCpu,
        int answererCpu,
        int priority,
        Optional<RdmaPort> port) {
    /** Builds the program in a directory. */
    public static BaselineProgram build(Path directory, Optional<RdmaPort> port) throws InterruptedException {
        return BaselineProgram.build(
                port.isPresent() ? BaselineProgram.MESSAGES_VERBS : BaselineProgram.MESSAGES, directory);
    }

    /**
     * Runs a round.
     *
     * @param count of round trips that are recorded, after a tenth more that are not
     * @param timeout after which the program has failed
     */
    public BaselineProcess.Measured run(int count, Duration timeout) throws InterruptedException {
        try {
            // A file, so that the wait has a deadline even if the program says nothing.
            Path said = Files.createTempFile("messages-baseline", null);
            try {
                return run(count, timeout, said);
            } finally {
                Files.delete(said);
            }
        } catch (IOException e) {
            throw new CommandException("cannot run " + program + ": " + e.getMessage(), e);
        }
    }

    private BaselineProcess.Measured run(int count, Duration timeout, Path said)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                program.toString(),
                mode.name().toLowerCase(Locale.ROOT),
                Integer.toString(count),
                Integer.toString(askerCpu),
                Integer.toString(answererCpu),
                Integer.toString(priority)));
        port.ifPresent(rdma -> command.addAll(
                List.of(rdma.device(), Integer.toString(rdma.gidIndex().orElse(0)))));
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(said.toFile())
                .start();
        try {
            if (!process.waitFor(timeout.toMillis(), TimeUnit.MILLISECONDS)) {
                throw new CommandException(program.getFileName() + " is not done after " + timeout.toSeconds() + " s");
            }
            String text = Files.readString(said, StandardCharsets.UTF_8).strip();
            if (process.exitValue() != 0) {
                throw new CommandException(text);
            }
            return RoundJson.parse(text);
        } finally {
            process.destroyForcibly();
        }
    }
}
