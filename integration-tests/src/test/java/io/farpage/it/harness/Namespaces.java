package io.farpage.it.harness;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Hosts on this machine: network namespaces, each with an address, that reach each other and this process through one
 * that routes. A pair of them can be cut: packets between the two are dropped without a word, both ways. Sources:
 * ip-netns(8), ip-rule(8).
 */
public final class Namespaces implements AutoCloseable {
    /** This process itself, as {@link #cut} names it. */
    public static final String TEST = "test";

    private static final Path NAMED = Path.of("/run/netns");
    private static final String PREFIX = "farpage-it-";

    private final long pid = ProcessHandle.current().pid();
    /** 198.18.0.0/15 is for tests of networks (RFC 2544), a /24 of it for each test JVM. */
    private final String net = "198.18.%d.".formatted(pid % 255);

    private final String hub = name("hub");
    private final Map<String, String> addresses = new LinkedHashMap<>();
    private final List<String> made = new ArrayList<>();

    /** Makes the namespace that routes, and this process' way into it. */
    public Namespaces() {
        deleteLeft();
        try {
            make(hub);
            Net.run("ip", "netns", "exec", hub, "sysctl", "-qw", "net.ipv4.ip_forward=1");
            String here = "fp" + pid % 10_000;
            Net.run("ip", "link", "add", "name", here, "type", "veth", "peer", "name", "root", "netns", hub);
            connect(TEST, "root");
            Net.run("ip", "address", "add", address(TEST) + "/30", "dev", here);
            Net.run("ip", "link", "set", here, "up");
            Net.run("ip", "route", "add", net + "0/24", "via", net + "1");
        } catch (RuntimeException e) {
            close();
            throw e;
        }
    }

    /** Why this machine lets no namespaces be made; empty if it does. */
    public static Optional<String> cannotMake() {
        String name = PREFIX + "probe-" + ProcessHandle.current().pid();
        try {
            Net.run("ip", "netns", "add", name);
            try {
                Net.run("ip", "-n", name, "link", "add", "name", "probe0", "type", "veth", "peer", "name", "probe1");
            } finally {
                Net.run("ip", "netns", "del", name);
            }
            return Optional.empty();
        } catch (UncheckedIOException e) {
            return Optional.of("ip is not installed (Debian: iproute2), so no network namespace can be made");
        } catch (IllegalStateException e) {
            return Optional.of("network namespaces take root and veth: " + e.getMessage());
        }
    }

    private String name(String host) {
        return PREFIX + pid + "-" + host;
    }

    /** Deletes the namespaces of test JVMs that were killed. */
    private static void deleteLeft() {
        if (!Files.isDirectory(NAMED)) {
            return;
        }
        try (Stream<Path> all = Files.list(NAMED)) {
            all.map(file -> file.getFileName().toString())
                    .filter(name -> name.matches(PREFIX + "\\d+-.*"))
                    .filter(name ->
                            ProcessHandle.of(Long.parseLong(name.split("-")[2])).isEmpty())
                    .forEach(name -> Net.run("ip", "netns", "del", name));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void make(String namespace) {
        Net.run("ip", "netns", "add", namespace);
        made.add(namespace);
        Net.run("ip", "-n", namespace, "link", "set", "lo", "up");
    }

    /** Gives the end in the routing namespace its address, which is one below the host's. */
    private void connect(String host, String device) {
        int base = 4 * addresses.size();
        addresses.put(host, net + (base + 2));
        Net.run("ip", "-n", hub, "address", "add", net + (base + 1) + "/30", "dev", device);
        Net.run("ip", "-n", hub, "link", "set", device, "up");
    }

    /** Makes a host. */
    public void add(String host) {
        String namespace = name(host);
        make(namespace);
        Net.run(
                "ip", "-n", hub, "link", "add", "name", host, "type", "veth", "peer", "name", "eth0", "netns",
                namespace);
        connect(host, host);
        Net.run("ip", "-n", namespace, "address", "add", address(host) + "/30", "dev", "eth0");
        Net.run("ip", "-n", namespace, "link", "set", "eth0", "up");
        String gateway = net + (4 * (addresses.size() - 1) + 1);
        Net.run("ip", "-n", namespace, "route", "add", "default", "via", gateway);
    }

    /** The address of a host. */
    public String address(String host) {
        return Optional.ofNullable(addresses.get(host)).orElseThrow();
    }

    /** A command that runs on a host, as the process that is started with it. */
    public List<String> on(String host, List<String> command) {
        return Stream.concat(Stream.of("ip", "netns", "exec", name(host)), command.stream())
                .toList();
    }

    /** Drops all packets between two hosts. */
    public void cut(String one, String other) {
        rule("add", one, other);
        rule("add", other, one);
    }

    /** Undoes {@link #cut}. */
    public void heal(String one, String other) {
        rule("del", one, other);
        rule("del", other, one);
    }

    private void rule(String change, String from, String to) {
        Net.run("ip", "-n", hub, "rule", change, "from", address(from), "to", address(to), "blackhole");
    }

    /** Ends the namespaces. The processes on them must have ended. */
    @Override
    public void close() {
        made.reversed().forEach(namespace -> Net.run("ip", "netns", "del", namespace));
        made.clear();
    }
}
