package io.farpage.coordinator.model;

import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Function;

/**
 * What every answer of a coordinator carries in its headers: which cluster, which start, and how much of the cluster's
 * history the coordinator has.
 *
 * @param cluster that it keeps
 * @param epoch this start of the coordinator
 * @param start the revision that the store had when the epoch began
 * @param revision of the state now: the number of changes made durable since the cluster began
 */
public record Stamp(ClusterId cluster, Epoch epoch, long start, long revision) {

    /** Header of {@link #cluster}. */
    public static final String CLUSTER = "Farpage-Cluster-Id";

    /** Header of {@link #epoch}. */
    public static final String EPOCH = "Farpage-Epoch";

    /** Header of {@link #start}. */
    public static final String START = "Farpage-Epoch-Start";

    /** Header of {@link #revision}. */
    public static final String REVISION = "Farpage-Revision";

    /** Writes the headers. */
    public void write(BiConsumer<String, String> header) {
        header.accept(CLUSTER, cluster.toString());
        header.accept(EPOCH, epoch.toString());
        header.accept(START, Long.toString(start));
        header.accept(REVISION, Long.toString(revision));
    }

    /** Reads the headers; empty if one is missing or malformed. */
    public static Optional<Stamp> read(Function<String, Optional<String>> header) {
        try {
            return header.apply(CLUSTER)
                    .map(ClusterId::new)
                    .flatMap(cluster -> header.apply(EPOCH)
                            .map(Epoch::parse)
                            .flatMap(epoch -> header.apply(START)
                                    .map(start -> Check.number(START, start))
                                    .flatMap(start -> header.apply(REVISION)
                                            .map(revision -> new Stamp(
                                                    cluster, epoch, start, Check.number(REVISION, revision))))));
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
    }
}
