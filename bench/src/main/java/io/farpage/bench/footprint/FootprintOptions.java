package io.farpage.bench.footprint;

import io.farpage.bench.cluster.Idle;
import io.farpage.bench.process.Installation;
import io.farpage.config.BytesOption;
import io.farpage.guest.command.UsageException;
import io.farpage.progress.ProgressOption;
import java.nio.file.Path;
import java.util.List;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Options of {@code page-bench footprint}. */
final class FootprintOptions {
    private static final long MIB = 1 << 20;
    private static final int FEWEST_GUESTS = 4;
    /** What one shard serves. */
    private static final int MOST_GUESTS = 256;

    private static final long LEAST_GUEST = 2 * MIB;
    private static final long MOST_GUEST = 1024 * MIB;
    private static final int MOST_PEERS = 1024;
    private static final int MOST_SHARDS = 16;
    private static final int MOST_ROUNDS = 100;
    private static final long LEAST_SPACE = 64 * MIB;
    private static final long MOST_SPACE = 64L << 30;

    /** What can be measured. */
    enum Part {
        IDLE,
        GUESTS,
        LINKS,
        PAGES
    }

    @Option(
            names = "--part",
            split = ",",
            description = "What to measure: idle, guests, links, pages (default: all of them)")
    private List<Part> parts = List.of(Part.values());

    @Option(
            names = "--guests",
            defaultValue = "100",
            description = "Guests of an agent, 4 to 256; all but one are idle (default: ${DEFAULT-VALUE})")
    private int guests;

    @Option(
            names = "--guest-memory",
            converter = BytesOption.class,
            defaultValue = "16MiB",
            description = "Memory of each idle guest, 2MiB to 1GiB; their home has a pool with room for all of them"
                    + " (default: ${DEFAULT-VALUE})")
    private long guestMemory;

    @Option(
            names = "--idle",
            split = ",",
            description = "How the shard waits while guests fault: spin and adaptive need two CPUs (default: block)")
    private List<Idle> idle = List.of(Idle.BLOCK);

    @Option(
            names = "--rounds",
            defaultValue = "7",
            description = "Rounds in which a guest faults, 1 to 100 (default: ${DEFAULT-VALUE})")
    private int rounds;

    @Option(
            names = "--peers",
            defaultValue = "64",
            description = "Peers with which an agent has links, 2 to 1024 (default: ${DEFAULT-VALUE})")
    private int peers;

    @Option(
            names = "--shards",
            defaultValue = "8",
            description = "Shards of that agent, 1 to 16: queue pairs of each link (default: ${DEFAULT-VALUE})")
    private int shards;

    @Option(
            names = "--space",
            converter = BytesOption.class,
            defaultValue = "2GiB",
            description = "The larger of two spaces whose metadata is compared, 64MiB to 64GiB; two homes have pools of"
                    + " that size (default: ${DEFAULT-VALUE})")
    private long space;

    @Option(
            names = "--report",
            paramLabel = "DIR",
            description = "Directory for the logs of programs (default: where the build puts reports)")
    private Path report = Installation.defaultReport();

    @Option(names = "--json", description = "Print JSON instead of tables")
    private boolean json;

    @Mixin
    private final ProgressOption progress = new ProgressOption();

    /** Refuses what cannot be measured. */
    void check(int cpus) {
        require(
                guests >= FEWEST_GUESTS && guests <= MOST_GUESTS,
                "--guests %d: must be from %d to %d".formatted(guests, FEWEST_GUESTS, MOST_GUESTS));
        require(
                guestMemory >= LEAST_GUEST && guestMemory <= MOST_GUEST && guestMemory % LEAST_GUEST == 0,
                "--guest-memory " + guestMemory + ": must be a multiple of 2MiB from 2MiB to 1GiB");
        require(rounds >= 1 && rounds <= MOST_ROUNDS, "--rounds " + rounds + ": must be from 1 to " + MOST_ROUNDS);
        require(peers >= 2 && peers <= MOST_PEERS, "--peers " + peers + ": must be from 2 to " + MOST_PEERS);
        require(shards >= 1 && shards <= MOST_SHARDS, "--shards " + shards + ": must be from 1 to " + MOST_SHARDS);
        require(
                space >= LEAST_SPACE && space <= MOST_SPACE && space % LEAST_SPACE == 0,
                "--space " + space + ": must be a multiple of 64MiB from 64MiB to 64GiB");
        for (Idle one : idle) {
            require(
                    !one.needsTwoCpus() || cpus > 1,
                    "--idle " + one.label() + ": needs two CPUs, and this process may use one");
        }
    }

    private static void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new UsageException(otherwise);
        }
    }

    List<Part> parts() {
        return parts.stream().distinct().sorted().toList();
    }

    int guests() {
        return guests;
    }

    long guestMemory() {
        return guestMemory;
    }

    List<Idle> idle() {
        return idle.stream().distinct().toList();
    }

    int rounds() {
        return rounds;
    }

    int peers() {
        return peers;
    }

    int shards() {
        return shards;
    }

    long space() {
        return space;
    }

    Path report() {
        return report;
    }

    boolean json() {
        return json;
    }

    ProgressOption progress() {
        return progress;
    }
}
