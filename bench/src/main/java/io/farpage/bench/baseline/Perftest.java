package io.farpage.bench.baseline;

import io.farpage.bench.report.FetchRound;
import io.farpage.bench.report.Rate;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * perftest's READ benchmarks, {@code ib_read_lat} and {@code ib_read_bw}, between two queue pairs of one device. A
 * round starts a server and a client and ends with them, so nothing runs in between. They check no content. Used by one
 * thread.
 *
 * @param device to measure on
 * @param gidIndex of the device's port; perftest's own choice, which only InfiniBand can do with, if left out
 * @param cpu that the client is bound to
 * @param pageSize bytes of one READ
 * @param events whether to sleep until a completion rather than to poll for it
 * @param scratch directory for what the programs print
 */
public record Perftest(String device, OptionalInt gidIndex, int cpu, int pageSize, boolean events, Path scratch) {
    private static final List<String> PROGRAMS = List.of("ib_read_lat", "ib_read_bw", "taskset");
    private static final int LISTENING = 0x0A;
    /** Perftest refuses a smaller count. */
    private static final long FEWEST = 5;

    /** What is missing to run it; empty if nothing is. */
    public static Optional<String> missing() {
        String path = Optional.ofNullable(System.getenv("PATH")).orElse("");
        return PROGRAMS.stream()
                .filter(program -> Stream.of(path.split(":"))
                        .filter(directory -> !directory.isEmpty())
                        .noneMatch(directory -> Files.isExecutable(Path.of(directory, program))))
                .findFirst()
                .map(program -> program + " is not on the PATH; install it, for example with apt-get install "
                        + (program.equals("taskset") ? "util-linux" : "perftest"));
    }

    /**
     * READs one after the other.
     *
     * @throws BaselineException with what perftest said
     */
    public FetchRound latency(long count, Duration timeout) throws InterruptedException {
        List<String> arguments = List.of("-o", "1", "-U", "-n", Long.toString(Math.max(FEWEST, count)));
        return PerftestOutput.latencies(run("ib_read_lat", arguments, timeout));
    }

    /** Reads {@code count} times, with {@code depth} READs under way at once. */
    public Rate rate(long count, int depth, Duration timeout) throws InterruptedException {
        String window = Integer.toString(depth);
        List<String> arguments = List.of("-o", window, "-t", window, "-n", Long.toString(Math.max(FEWEST, count)));
        return PerftestOutput.rate(run("ib_read_bw", arguments, timeout), pageSize);
    }

    private String run(String program, List<String> arguments, Duration timeout) throws InterruptedException {
        long deadline = System.nanoTime() + timeout.toNanos();
        int port = freePort();
        List<String> server = new ArrayList<>(List.of(program, "-d", device, "-F", "-p", Integer.toString(port)));
        server.addAll(List.of("-s", Integer.toString(pageSize)));
        gidIndex.ifPresent(index -> server.addAll(List.of("-x", Integer.toString(index))));
        server.addAll(arguments);
        List<String> client = new ArrayList<>(List.of("taskset", "-c", Integer.toString(cpu)));
        client.addAll(server);
        if (events) {
            client.add("-e");
            server.add("-e");
        }
        client.add("127.0.0.1");
        Started serving = start(server, program + "-server.log");
        try {
            awaitListening(serving, port, deadline);
            Started reading = start(client, program + ".log");
            try {
                reading.awaitSuccess(deadline);
            } finally {
                reading.process().destroyForcibly();
            }
            serving.awaitSuccess(deadline);
            return reading.said();
        } finally {
            serving.process().destroyForcibly();
        }
    }

    private static int freePort() {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        } catch (IOException e) {
            throw new BaselineException("no TCP port is free for perftest: " + e.getMessage(), e);
        }
    }

    /** Connecting to find out would be taken for the client. */
    private static void awaitListening(Started server, int port, long deadline) throws InterruptedException {
        while (!isListening(port)) {
            if (server.process().waitFor(20, TimeUnit.MILLISECONDS)) {
                throw new BaselineException(server.failure());
            }
            if (System.nanoTime() - deadline > 0) {
                throw new BaselineException("perftest did not listen on its port in time: " + server.failure());
            }
        }
    }

    private static boolean isListening(int port) {
        return Stream.of("/proc/net/tcp", "/proc/net/tcp6").anyMatch(table -> {
            try {
                return Files.readAllLines(Path.of(table)).stream().skip(1).anyMatch(line -> {
                    String[] fields = line.strip().split("\\s+");
                    String local = fields[1];
                    return Integer.parseInt(local.substring(local.lastIndexOf(':') + 1), 16) == port
                            && Integer.parseInt(fields[3], 16) == LISTENING;
                });
            } catch (IOException absent) {
                return false;
            }
        });
    }

    private Started start(List<String> command, String log) {
        Path said = scratch.resolve(log);
        try {
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(said.toFile())
                    .start();
            return new Started(command, process, said);
        } catch (IOException e) {
            throw new BaselineException("cannot start " + command.getFirst() + ": " + e.getMessage(), e);
        }
    }

    /** A program under way, and the file with what it prints. */
    private record Started(List<String> command, Process process, Path log) {
        void awaitSuccess(long deadline) throws InterruptedException {
            if (!process.waitFor(deadline - System.nanoTime(), TimeUnit.NANOSECONDS)) {
                throw new BaselineException("not done in time: " + failure());
            }
            if (process.exitValue() != 0) {
                throw new BaselineException(failure());
            }
        }

        String said() {
            try {
                return Files.readString(log, StandardCharsets.UTF_8);
            } catch (IOException e) {
                throw new BaselineException("cannot read what perftest printed: " + e.getMessage(), e);
            }
        }

        String failure() {
            String state = process.isAlive() ? "still running" : "exit code " + process.exitValue();
            return String.join(" ", command) + ": " + state + ": " + said().strip();
        }
    }
}
