package io.farpage.bench.command;

import java.nio.file.Path;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Options of every command that measures, as given; those that can be wrong say so when they are asked for. */
public final class RunOptions {
    /** Which transport carries the pages. */
    public enum Transport {
        AUTO,
        RDMA,
        TCP;

        /** As {@code transport.mode} takes it. */
        public String label() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    private static final int MAX_ROUNDS = 1000;

    @Option(
            names = "--rounds",
            description = "Rounds of each run, 1 to 1000, alternating with those of the baseline (fetch: 11, fault: 7)")
    private @Nullable Integer rounds;

    @Option(names = "--seed", defaultValue = "1", description = "Of page content and order (${DEFAULT-VALUE})")
    private long seed;

    @Option(
            names = "--transport",
            defaultValue = "auto",
            description = "auto (RDMA where there is a device), rdma or tcp (${DEFAULT-VALUE})")
    private Transport transport = Transport.AUTO;

    @Option(names = "--no-baseline", description = "Run nothing in between to compare with")
    private boolean noBaseline;

    @Option(
            names = "--report",
            paramLabel = "DIR",
            description = "Where the report goes (bench/target/report of the installation, else farpage-report)")
    private @Nullable Path report;

    /**
     * Rounds of each run.
     *
     * @param otherwise if none are given
     * @throws IllegalArgumentException naming the option, the value and what is allowed
     */
    public int rounds(int otherwise) {
        int given = rounds == null ? otherwise : rounds;
        if (given < 1 || given > MAX_ROUNDS) {
            throw new IllegalArgumentException("--rounds " + given + ": must be from 1 to " + MAX_ROUNDS);
        }
        return given;
    }

    public long seed() {
        return seed;
    }

    public Transport transport() {
        return transport;
    }

    public boolean noBaseline() {
        return noBaseline;
    }

    /**
     * Where the report goes.
     *
     * @param otherwise if nothing is said
     */
    public Path report(Path otherwise) {
        return report == null ? otherwise : report;
    }
}
