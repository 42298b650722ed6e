package io.farpage.agent.doctor;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Runs programs that only read, for what no file tells. */
@FunctionalInterface
interface Commands {
    /** What {@code command} printed, or nothing if it is not installed, failed or took too long. */
    Optional<String> output(List<String> command);

    /** Runs them for real, each for 2 s at most. */
    static Optional<String> run(List<String> command) {
        Process process;
        try {
            process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectInput(ProcessBuilder.Redirect.from(new java.io.File("/dev/null")))
                    .start();
        } catch (IOException e) {
            return Optional.empty();
        }
        try {
            if (!process.waitFor(2, TimeUnit.SECONDS) || process.exitValue() != 0) {
                return Optional.empty();
            }
            // What these programs print is far less than a pipe holds, so reading after the end cannot have blocked
            // them.
            return Optional.of(new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8));
        } catch (IOException e) {
            return Optional.empty();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        } finally {
            process.destroyForcibly();
        }
    }
}
