package io.farpage.it.harness;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.DocumentedRefusals.Port;
import java.io.IOException;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What is tried at the ports of a cluster, and refused. Each attempt has the words of docs/security.md. */
public final class Attempts {
    /** The connection ends, and nothing was said. */
    static final String ENDS = "ends";

    private final Map<Port, Map<String, Attempt>> all = new LinkedHashMap<>();

    /** Does what is refused, and returns what the client gets. */
    @FunctionalInterface
    public interface Attempt {
        /** Once. */
        String make() throws Exception;
    }

    /** Adds an attempt at a port. */
    void add(String attempt, Port port, Attempt made) {
        all.computeIfAbsent(port, _ -> new LinkedHashMap<>()).put(attempt, made);
    }

    /** An attempt at a port, if it is known. */
    public Optional<Attempt> find(String attempt, Port port) {
        return Optional.ofNullable(all.getOrDefault(port, Map.of()).get(attempt));
    }

    /** The names of all, as those of the cells in the guide. */
    public Set<String> names() {
        return all.entrySet().stream()
                .flatMap(port -> port.getValue().keySet().stream()
                        .map(attempt -> attempt + " at " + port.getKey().name().toLowerCase(java.util.Locale.ROOT)))
                .collect(Collectors.toSet());
    }

    /** What a socket gets that says nothing more. */
    static String end(Socket socket) {
        try {
            int next = socket.getInputStream().read();
            return next < 0 ? ENDS : "it said " + next;
        } catch (SocketTimeoutException e) {
            return "it is kept";
        } catch (IOException e) {
            return ENDS;
        }
    }

    /** What another user's program gets that speaks HTTP on a Unix socket. */
    static String asUser(int user, Path socket, String... arguments) throws IOException, InterruptedException {
        List<String> command = Stream.concat(
                        Stream.of(
                                "setpriv",
                                "--reuid=" + user,
                                "--regid=" + user,
                                "--clear-groups",
                                "curl",
                                "-sSi",
                                "--http0.9",
                                "--unix-socket",
                                socket.toString()),
                        Stream.of(arguments))
                .toList();
        Process curl = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(curl.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        Deadlines.exit("the end of curl, after " + said, Deadlines.SHORT, curl);
        return said;
    }
}
