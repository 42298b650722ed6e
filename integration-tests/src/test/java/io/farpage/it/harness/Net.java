package io.farpage.it.harness;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Looks at this machine's TCP connections, and breaks them. */
public final class Net {
    private static final String ESTABLISHED = "01";

    private Net() {}

    /** Why connections cannot be broken here; empty if they can. Source: ss(8), {@code -K}. */
    public static Optional<String> cannotBreak() {
        try {
            run("ss", "-tnK", "sport", "=", ":1");
            return "root".equals(System.getProperty("user.name"))
                    ? Optional.empty()
                    : Optional.of("breaking TCP connections (ss -K) takes root");
        } catch (UncheckedIOException e) {
            return Optional.of("ss is not installed (Debian: iproute2), so no TCP connection can be broken");
        }
    }

    /** Why addresses cannot be cut off here; empty if they can. Source: ip-route(8). */
    public static Optional<String> cannotCut() {
        try {
            run("ip", "route", "show", "table", "local");
            return "root".equals(System.getProperty("user.name"))
                    ? Optional.empty()
                    : Optional.of("cutting an address off (ip route) takes root");
        } catch (UncheckedIOException e) {
            return Optional.of("ip is not installed (Debian: iproute2), so no address can be cut off");
        }
    }

    /** Cuts a loopback address off: packets to it and from it are dropped, and connections stay as they are. */
    public static void cut(String address) {
        run("ip", "route", "replace", "blackhole", address + "/32", "table", "local");
    }

    /** Undoes {@link #cut}. */
    public static void heal(String address) {
        run("ip", "route", "del", "blackhole", address + "/32", "table", "local");
    }

    /** Breaks every connection that was made to a port. */
    public static void breakConnectionsTo(int port) {
        run("ss", "-tnK", "dport", "=", ":" + port);
    }

    /** Breaks every connection that was made to an address. */
    public static void breakConnectionsTo(String address) {
        run("ss", "-tnK", "dst", address);
    }

    /** Connections that were made to a port and are established. */
    public static long connectionsTo(int port) {
        String remote = ":%04X".formatted(port);
        long count = 0;
        for (String file : List.of("/proc/net/tcp", "/proc/net/tcp6")) {
            if (!Files.exists(Path.of(file))) {
                continue;
            }
            try {
                count += Files.readAllLines(Path.of(file)).stream()
                        .skip(1)
                        .map(line -> line.strip().split("\\s+"))
                        .filter(f -> f[2].endsWith(remote) && f[3].equals(ESTABLISHED))
                        .count();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        return count;
    }

    static void run(String... command) {
        try {
            Process process =
                    new ProcessBuilder(command).redirectErrorStream(true).start();
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (process.waitFor() != 0) {
                throw new IllegalStateException(new ArrayList<>(List.of(command)) + ": " + output);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }
}
