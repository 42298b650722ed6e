package io.farpage.agent.control.mount;

import io.farpage.agent.control.page.PageException;
import io.farpage.agent.control.page.SpaceReader;
import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.data.mount.FilePort;
import io.farpage.agent.data.mount.ReadableFile;
import io.farpage.agent.data.shard.FetchStatus;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Space;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A snapshot that the kernel knows as a file. Its space is in use from the first time that it is opened until the
 * kernel forgets the file: no process has it open then, and none of its pages is in the page cache. Thread-safe.
 */
final class SnapshotFile {
    private static final Logger log = LoggerFactory.getLogger(SnapshotFile.class);
    private static final long FIRST_NODE = 2;
    private static final Duration RETRY = Duration.ofMillis(100);
    private static final long LOG_NANOS = Duration.ofSeconds(10).toNanos();

    private final Space space;
    private final Source source;
    private final FilePort port;
    private final LongSupplier clock;
    private long lookups;
    private int opened;
    private long usedAt;
    private boolean wasOpened;
    private boolean forgotten;
    private Optional<Reading> reading = Optional.empty();
    private volatile long loggedAt;

    /** The node of the file of a space. The directory is node 1. */
    static long node(long space) {
        return space + FIRST_NODE;
    }

    /** The space whose file has a node. */
    static long space(long node) {
        return node - FIRST_NODE;
    }

    /** Begins to use a space. */
    @FunctionalInterface
    interface Source {
        /** Empty if there is no such space, or it is being deleted. */
        Optional<Reading> open(long id) throws CoordinatorException, InterruptedException;
    }

    /**
     * A space in use.
     *
     * @param file what the data plane reads
     * @param reader what the control plane reads, if the data plane does not
     */
    record Reading(SpaceUse use, ReadableFile file, SpaceReader reader) {}

    /**
     * @param port gets the file while the space is in use
     * @param clock monotonic nanoseconds
     */
    SnapshotFile(Space space, Source source, FilePort port, LongSupplier clock) {
        this.space = space;
        this.source = source;
        this.port = port;
        this.clock = clock;
        usedAt = clock.getAsLong();
    }

    Space space() {
        return space;
    }

    /** A look-up names this file to the kernel. Returns false if the kernel has forgotten it for good. */
    synchronized boolean lookUp() {
        lookups++;
        usedAt = clock.getAsLong();
        return !forgotten;
    }

    /** The kernel undoes look-ups. Returns whether it has forgotten the file; its space is not in use then. */
    synchronized boolean forget(long count) {
        lookups -= count;
        forgotten |= lookups <= 0;
        if (forgotten) {
            end();
        }
        return forgotten;
    }

    /** Ends the use of the space. */
    synchronized void end() {
        reading.ifPresent(one -> {
            port.remove(one.file().node());
            one.use().close();
        });
        reading = Optional.empty();
    }

    /**
     * A process opens the file.
     *
     * @return whether it can be read; not if the snapshot was deleted
     */
    synchronized boolean open() throws CoordinatorException, InterruptedException {
        boolean isReadable = use().filter(one -> !one.use().space().deleting()).isPresent();
        if (isReadable) {
            opened++;
            wasOpened = true;
            usedAt = clock.getAsLong();
        }
        return isReadable;
    }

    /** Uses the space of a file that was open, and may be, when another agent ended. */
    synchronized void adopt() throws CoordinatorException, InterruptedException {
        wasOpened = true;
        var _ = use();
    }

    /** A process has closed the file. */
    synchronized void close() {
        opened = Math.max(0, opened - 1);
        usedAt = clock.getAsLong();
    }

    private synchronized Optional<Reading> use() throws CoordinatorException, InterruptedException {
        if (reading.isEmpty() && !forgotten) {
            reading = source.open(space.id());
            reading.ifPresent(one -> port.add(one.file()));
        }
        return reading;
    }

    /** What reads the space, if that is in use. */
    synchronized Optional<SpaceReader> reader() {
        return reading.map(Reading::reader);
    }

    /** Whether the space is in use. */
    synchronized boolean isInUse() {
        return reading.isPresent();
    }

    /**
     * Whether the kernel may forget the file: no process is known to have it open, for some time.
     *
     * @param looked how long after a look-up
     * @param kept how long after it was closed; its pages stay in the page cache for that time
     */
    synchronized boolean isIdle(Duration looked, Duration kept) {
        Duration idle = wasOpened || reading.isPresent() ? kept : looked;
        return opened == 0 && clock.getAsLong() - usedAt >= idle.toNanos();
    }

    /** Whether the snapshot is being deleted. */
    synchronized boolean isDeleting() {
        return reading.filter(one -> one.use().space().deleting()).isPresent();
    }

    /**
     * Reads bytes; fewer at the end of the file. Waits for homes that do not answer, as a guest does, while
     * {@code goesOn}.
     *
     * @return empty if it did not go on
     * @throws IOException if the pages are lost
     */
    Optional<byte[]> read(long offset, int size, BooleanSupplier goesOn) throws IOException, InterruptedException {
        int length = Math.clamp(space.contentBytes() - offset, 0, size);
        while (goesOn.getAsBoolean()) {
            try {
                SpaceReader from = use().map(Reading::reader)
                        .orElseThrow(() -> new IOException("snapshot %s was deleted".formatted(space.name())));
                return Optional.of(from.read(offset, length));
            } catch (PageException e) {
                if (e.status() == FetchStatus.PAGE_LOST) {
                    throw new IOException("snapshot %s: %s".formatted(space.name(), e.getMessage()), e);
                }
                warn(e);
            } catch (CoordinatorException e) {
                warn(e);
            }
            Thread.sleep(RETRY);
        }
        return Optional.empty();
    }

    private void warn(Exception why) {
        long now = clock.getAsLong();
        if (loggedAt == 0 || now - loggedAt >= LOG_NANOS) {
            loggedAt = now;
            log.warn("snapshot {}: a read waits: {}", space.name(), why.getMessage());
        }
    }
}
