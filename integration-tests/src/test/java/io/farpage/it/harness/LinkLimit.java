package io.farpage.it.harness;

import java.util.Optional;

/**
 * Limits what some loopback addresses send, and what they receive, each for itself and both ways at once, as the port
 * of a host does. Source: tc-htb(8), tc-u32(8). One at a time on a machine.
 */
public final class LinkLimit implements AutoCloseable {
    /** Two pages: a larger burst would pass as though there were no limit. */
    private static final String BURST = "8k";

    private LinkLimit() {}

    /** Why nothing can be limited here; empty if it can. */
    public static Optional<String> cannotLimit() {
        if (!"root".equals(System.getProperty("user.name"))) {
            return Optional.of("limiting what an address sends and receives (tc) takes root");
        }
        try {
            of(1).close();
            return Optional.empty();
        } catch (RuntimeException e) {
            return Optional.of("the loopback cannot be limited (Debian: iproute2; kernel: sch_htb): " + e.getMessage());
        }
    }

    /**
     * Begins.
     *
     * @param mbitPerSecond of each address and direction
     */
    public static LinkLimit of(int mbitPerSecond, String... addresses) {
        Net.run("tc", "qdisc", "add", "dev", "lo", "root", "handle", "1:", "htb");
        LinkLimit limit = new LinkLimit();
        try {
            for (int i = 0; i < addresses.length; i++) {
                limit.add(mbitPerSecond + "mbit", "src", addresses[i], "1:" + (10 + 2 * i));
                limit.add(mbitPerSecond + "mbit", "dst", addresses[i], "1:" + (11 + 2 * i));
            }
            return limit;
        } catch (RuntimeException e) {
            limit.close();
            throw e;
        }
    }

    private void add(String rate, String end, String address, String id) {
        Net.run(
                "tc", "class", "add", "dev", "lo", "parent", "1:", "classid", id, "htb", "rate", rate, "burst", BURST,
                "cburst", BURST, "quantum", "5000");
        Net.run(
                "tc",
                "filter",
                "add",
                "dev",
                "lo",
                "parent",
                "1:",
                "protocol",
                "ip",
                "u32",
                "match",
                "ip",
                end,
                address + "/32",
                "flowid",
                id);
    }

    @Override
    public void close() {
        Net.run("tc", "qdisc", "del", "dev", "lo", "root");
    }
}
