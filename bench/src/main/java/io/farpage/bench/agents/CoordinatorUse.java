package io.farpage.bench.agents;

import io.farpage.guest.command.CommandException;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a coordinator has used since its start.
 *
 * @param nanos when this was read
 * @param cpuSeconds of all its threads (utime and stime of proc_pid_stat(5), in ticks of 10 ms)
 * @param writtenBytes to sockets, store and log (wchar of proc_pid_io(5))
 * @param requests that it has answered, by its own metrics
 * @param residentBytes of the process (VmRSS of proc_pid_status(5))
 */
record CoordinatorUse(long nanos, double cpuSeconds, long writtenBytes, long requests, long residentBytes) {
    private static final double TICKS_PER_SECOND = 100;
    private static final int UTIME = 11;
    private static final Pattern COUNT =
            Pattern.compile("^farpage_coordinator\\S*requests_total\\{.*} (\\S+)$", Pattern.MULTILINE);

    static CoordinatorUse read(HttpClient http, String url, long pid) throws InterruptedException {
        try {
            Path proc = Path.of("/proc", Long.toString(pid));
            String stat = Files.readString(proc.resolve("stat"));
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
            double cpu = (Long.parseLong(fields[UTIME]) + Long.parseLong(fields[UTIME + 1])) / TICKS_PER_SECOND;
            long written = value(Files.readAllLines(proc.resolve("io")), "wchar:");
            long resident = value(Files.readAllLines(proc.resolve("status")), "VmRSS:") << 10;
            return new CoordinatorUse(System.nanoTime(), cpu, written, requests(http, url), resident);
        } catch (IOException e) {
            throw new CommandException("cannot read what the coordinator (process " + pid + ") uses: " + e, e);
        }
    }

    private static long value(List<String> lines, String name) {
        return lines.stream()
                .filter(line -> line.startsWith(name))
                .map(line -> line.substring(name.length()).replace("kB", "").strip())
                .mapToLong(Long::parseLong)
                .findFirst()
                .orElse(0);
    }

    private static long requests(HttpClient http, String url) throws IOException, InterruptedException {
        String text = http.send(
                        HttpRequest.newBuilder(URI.create(url + "/metrics")).build(), BodyHandlers.ofString())
                .body();
        Matcher counts = COUNT.matcher(text);
        double sum = 0;
        while (counts.find()) {
            sum += Double.parseDouble(counts.group(1));
        }
        return (long) sum;
    }

    /** What was used since an earlier reading. */
    Since since(CoordinatorUse before) {
        return new Since(
                (nanos - before.nanos) / 1e9,
                cpuSeconds - before.cpuSeconds,
                writtenBytes - before.writtenBytes,
                requests - before.requests);
    }

    /** What was used in some seconds. */
    record Since(double seconds, double cpuSeconds, long writtenBytes, long requests) {
        /** CPU time divided by time: the average number of CPUs in use. */
        double cores() {
            return cpuSeconds / seconds;
        }
    }
}
