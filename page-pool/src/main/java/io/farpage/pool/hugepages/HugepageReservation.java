package io.farpage.pool.hugepages;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Path;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hugepages borrowed from the system's memory for a while: raises {@code nr_hugepages} by what is missing, where it
 * may, and lowers it by as much when closed, or when the JVM shuts down. Both are relative to the value of the moment,
 * so reservations of several processes nest in any order; the step is done under a lock on the kernel's file that all
 * reservations take. A process killed with SIGKILL leaves its pages reserved.
 *
 * <p>Always close a reservation; one that failed holds nothing. Close it after the pool that uses it: pages in use are
 * given back only when they are unmapped. Thread-safe.
 */
public final class HugepageReservation implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(HugepageReservation.class);
    private static final Object IN_THIS_PROCESS = new Object();

    private final Path folder;
    private final Outcome outcome;
    private final String description;
    private final Thread hook = new Thread(this::putBack, "hugepages put back");
    private long borrowed;

    private HugepageReservation(Path folder, long borrowed, Outcome outcome, String description) {
        this.folder = folder;
        this.borrowed = borrowed;
        this.outcome = outcome;
        this.description = description;
    }

    /** How a reservation ended. */
    public enum Outcome {
        /** Enough were free; nothing was changed. */
        ENOUGH,
        /** The kernel's pool was raised. */
        RAISED,
        /** Memory is too fragmented, or too little; what was raised has been put back. */
        TOO_FEW,
        /** This process may not change the setting. */
        NOT_PERMITTED,
        /** The kernel does not offer this size. */
        UNSUPPORTED
    }

    /**
     * Sees to it that {@code pages} are available at this moment. Others can take them first: what is free already is
     * relied upon.
     *
     * @param size of the pages
     * @param pages 1 or more
     */
    public static HugepageReservation atLeast(HugepageSize size, long pages) {
        return reserve(Hugepages.ofThisMachine(), size, pages, true);
    }

    /** Adds {@code pages} whatever is free already; robust where several users reserve at once. */
    public static HugepageReservation additional(HugepageSize size, long pages) {
        return reserve(Hugepages.ofThisMachine(), size, pages, false);
    }

    static HugepageReservation reserve(Hugepages hugepages, HugepageSize size, long pages, boolean useFree) {
        if (pages < 1) {
            throw new IllegalArgumentException("hugepages to reserve: " + pages + "; allowed: 1 or more");
        }
        Path folder = hugepages.folder(size);
        synchronized (IN_THIS_PROCESS) {
            Optional<HugepageCounts> counts = hugepages.counts(size);
            if (counts.isEmpty()) {
                return new HugepageReservation(
                        folder, 0, Outcome.UNSUPPORTED, "this kernel offers no hugepages of " + size);
            }
            try (HugepageControl file = KernelFile.open(folder)) {
                // Read again, now that no other reservation can change it.
                HugepageCounts before = hugepages.counts(size).orElse(counts.get());
                return raise(file, folder, before, pages, useFree);
            } catch (IOException e) {
                long available = counts.get().available();
                if (useFree && available >= pages) {
                    return enough(folder, counts.get(), pages);
                }
                String why = e instanceof AccessDeniedException ? "permission denied" : e.toString();
                return new HugepageReservation(
                        folder,
                        0,
                        Outcome.NOT_PERMITTED,
                        "cannot reserve %d hugepages of %s (%s); have root run: %s"
                                .formatted(pages, size, why, hugepages.reserveCommand(size, pages)));
            }
        }
    }

    static HugepageReservation raise(
            HugepageControl file, Path folder, HugepageCounts before, long pages, boolean useFree) throws IOException {
        long missing = useFree ? pages - before.available() : pages;
        if (missing <= 0) {
            return enough(folder, before, pages);
        }
        long former = file.configured();
        // Surplus pages are in use and become persistent ones first, so they come on top.
        long wanted = file.total() + missing;
        file.configure(wanted);
        long lacking = wanted - file.configured();
        if (lacking > 0) {
            file.configure(former);
            return new HugepageReservation(folder, 0, Outcome.TOO_FEW, tooFew(before.size(), missing, lacking, wanted));
        }
        HugepageReservation reservation = new HugepageReservation(
                folder,
                wanted - former,
                Outcome.RAISED,
                "raised %s from %d to %d until closed".formatted(folder.resolve("nr_hugepages"), former, wanted));
        Runtime.getRuntime().addShutdownHook(reservation.hook);
        return reservation;
    }

    private static String tooFew(HugepageSize size, long missing, long lacking, long wanted) {
        return ("of %d more hugepages of %s the kernel could make %d: memory is short or fragmented; free some, run: "
                        + "echo 1 > /proc/sys/vm/compact_memory, or reserve at boot: hugepagesz=%s hugepages=%d")
                .formatted(
                        missing,
                        size,
                        Math.max(0, missing - lacking),
                        size == HugepageSize.ONE_GIB ? "1G" : "2M",
                        wanted);
    }

    private static HugepageReservation enough(Path folder, HugepageCounts counts, long pages) {
        return new HugepageReservation(
                folder,
                0,
                Outcome.ENOUGH,
                "%d hugepages of %s are wanted, %d are available".formatted(pages, counts.size(), counts.available()));
    }

    /** How it ended. */
    public Outcome outcome() {
        return outcome;
    }

    /** Whether the pages that were requested are available. */
    public boolean isSufficient() {
        return outcome == Outcome.ENOUGH || outcome == Outcome.RAISED;
    }

    /** One line for people: what was done, or why not and what to do. */
    public String description() {
        return description;
    }

    /** By how many pages the kernel's pool is raised on account of this. */
    public synchronized long borrowed() {
        return borrowed;
    }

    /**
     * Leaves the pages reserved when this process ends, for others that it has started. The caller notes how many, and
     * some process calls {@link #giveBack}.
     *
     * @return by how many pages the kernel's pool stays raised
     */
    public synchronized long keep() {
        long kept = borrowed;
        borrowed = 0;
        return kept;
    }

    /**
     * Lowers the kernel's pool by pages that were {@link #keep kept}; those in use are given back when they are
     * unmapped.
     */
    public static void giveBack(HugepageSize size, long pages) throws IOException {
        giveBack(Hugepages.ofThisMachine().folder(size), pages);
    }

    static void giveBack(Path folder, long pages) throws IOException {
        synchronized (IN_THIS_PROCESS) {
            try (HugepageControl file = KernelFile.open(folder)) {
                file.configure(Math.max(0, file.configured() - pages));
            }
        }
    }

    /** Puts the pages back. Idempotent. */
    @Override
    public void close() {
        putBack();
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            LOG.debug("the JVM is shutting down, the hook stays", e);
        }
    }

    private synchronized void putBack() {
        if (borrowed == 0) {
            return;
        }
        try {
            giveBack(folder, borrowed);
            borrowed = 0;
        } catch (IOException e) {
            LOG.warn(
                    "{} hugepages could not be put back: {}; lower nr_hugepages in {} by hand",
                    borrowed,
                    e.toString(),
                    folder);
        }
    }
}
