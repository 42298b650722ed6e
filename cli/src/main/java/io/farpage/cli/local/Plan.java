package io.farpage.cli.local;

import io.farpage.config.Quantities;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * What a local cluster is made of.
 *
 * @param folder of its files
 * @param agents how many, 1 to 16
 * @param poolBytes that each exports, a multiple of 2 MiB
 * @param guestBytes of a guest that runs on the first agent with its pages on the others; empty for none
 */
record Plan(Path folder, int agents, long poolBytes, OptionalLong guestBytes) {

    static final String COORDINATOR = "coordinator";
    static final String GUEST = "guest";
    static final String SPACE = "demo";

    private static final String PREFIX = "local-";
    private static final int MOST_AGENTS = 16;
    private static final int PAGE = 4096;
    private static final long UNIT = 2L << 20;
    private static final long STAGING = 16L << 20;

    /** So much of a guest's memory may be resident: a quarter. */
    private static final int RESIDENT = 4;

    Plan {
        if (agents < 1 || agents > MOST_AGENTS) {
            throw new LocalClusterException("--local %d: is not from 1 to %d".formatted(agents, MOST_AGENTS));
        }
        if (poolBytes < UNIT || poolBytes % UNIT != 0) {
            throw new LocalClusterException(
                    "--pool %s: is not a multiple of 2MiB".formatted(Quantities.formatBytes(poolBytes)));
        }
        if (guestBytes.isPresent()) {
            checkGuest(agents, poolBytes, guestBytes.getAsLong());
        }
    }

    private static void checkGuest(int agents, long poolBytes, long bytes) {
        String size = Quantities.formatBytes(bytes);
        if (agents < 2) {
            throw new LocalClusterException(
                    "--guest %s: its pages are on other nodes than its own; give --local 2 or more".formatted(size));
        }
        if (bytes < UNIT || bytes % UNIT != 0 || bytes > 1 << 30) {
            throw new LocalClusterException("--guest %s: is not a multiple of 2MiB up to 1GiB".formatted(size));
        }
        long room = poolBytes * (agents - 1) / Math.min(2, agents - 1);
        if (bytes > room) {
            throw new LocalClusterException(
                    "--guest %s: the pools of the other nodes have room for %s; give a larger --pool"
                            .formatted(size, Quantities.formatBytes(room)));
        }
    }

    List<String> names() {
        return IntStream.rangeClosed(1, agents)
                .mapToObj(number -> PREFIX + number)
                .toList();
    }

    String firstAgent() {
        return names().getFirst();
    }

    /** Where the VMM of the guest finds its agent. */
    Path guestSocket() {
        return folder.resolve("guest.vmm");
    }

    /** Hugepages of 2 MiB for the pool of an agent: what is exported, what fetched pages arrive in, and a header. */
    long hugepagesOfEach() {
        return (poolBytes + STAGING + UNIT) / UNIT;
    }

    /** Processes that are started. */
    int processes() {
        return 1 + agents + (guestBytes.isPresent() ? 1 : 0);
    }

    /** Limit of the guest's resident memory, in bytes; 0 without a guest. */
    long residentBytes() {
        return guestBytes.orElse(0) / RESIDENT / PAGE * PAGE;
    }

    List<String> coordinatorArguments(int port) {
        return List.of(
                "run",
                "--port-file",
                folder.resolve("coordinator.port").toString(),
                "--set",
                "server.listen=127.0.0.1:" + port,
                "--set",
                "store.directory=" + folder.resolve("store"));
    }

    List<String> agentArguments(String name, String coordinator) {
        List<String> arguments = new ArrayList<>(
                List.of("run", "--port-file", folder.resolve(name + ".port").toString()));
        List.of(
                        "node.id=" + name,
                        "coordinator.url=" + coordinator,
                        "api.listen=127.0.0.1:0",
                        "api.socket=" + folder.resolve(name + ".sock"),
                        "pool.exported=" + poolBytes,
                        "pool.staging=" + STAGING,
                        // Each agent has a budget of half of every CPU, so two of them could leave nothing to other
                        // programs.
                        "shard.realtime_priority=0",
                        "audit.file=off")
                .forEach(setting -> arguments.addAll(List.of("--set", setting)));
        return arguments;
    }

    /** The command of the agent that makes the space and waits for the guest. */
    List<String> attachArguments() {
        long bytes = guestBytes.orElseThrow();
        List<String> arguments = new ArrayList<>(List.of(
                "attach",
                "--agent",
                "unix:" + folder.resolve(firstAgent() + ".sock"),
                "--space",
                SPACE,
                "--socket",
                guestSocket().toString(),
                "--size",
                Long.toString(bytes),
                "--local",
                Long.toString(residentBytes()),
                "--replicas",
                Integer.toString(Math.min(2, agents - 1))));
        names().stream().skip(1).forEach(home -> arguments.addAll(List.of("--home", home)));
        return arguments;
    }

    /**
     * The guest: a process that touches its pages in random order, compares them, and leaves the processor to others
     * most of the time.
     */
    List<String> guestArguments() {
        return List.of(
                "stress",
                "--socket",
                guestSocket().toString(),
                "--memory",
                Long.toString(guestBytes.orElseThrow()),
                "--threads",
                "1",
                "--rate",
                "1000",
                "--operations",
                "1000000000000",
                "--timeout",
                "365d");
    }

    String inventory() {
        return "cluster: local%nnodes:%n%s"
                .formatted(names().stream().map("  - id: %s%n"::formatted).collect(Collectors.joining()));
    }

    /** For people, a line for each step. */
    List<String> describe() {
        List<String> lines = new ArrayList<>();
        lines.add("files in %s".formatted(folder));
        lines.add("reserve %d hugepages of 2MiB, or use small pages if the kernel cannot reserve them"
                .formatted(agents * hugepagesOfEach()));
        lines.add("start %s: %s".formatted(COORDINATOR, String.join(" ", coordinatorArguments(0))));
        names().forEach(name -> lines.add(
                "start %s: %s".formatted(name, String.join(" ", agentArguments(name, "http://127.0.0.1:PORT")))));
        lines.add("form the cluster: coordinator up " + folder.resolve("inventory.yaml"));
        guestBytes.ifPresent(_ -> {
            lines.add("prepare the guest: page-agent " + String.join(" ", attachArguments()));
            lines.add("start %s: page-bench %s".formatted(GUEST, String.join(" ", guestArguments())));
        });
        return lines;
    }
}
