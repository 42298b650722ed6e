package io.farpage.agent.control.space;

import io.farpage.agent.data.pager.home.Mirroring;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.PullState;
import io.farpage.coordinator.model.SpaceExtents;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.BiPredicate;
import java.util.function.Consumer;
import java.util.function.LongFunction;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks the coordinator to drop homes that do not take the WRITEs of this agent's guests, and to promote homes that join
 * once all pagers of the guest have copied their pages. Acknowledges each drop once no pager has anything under way to
 * the dropped home. A pager repeats its report while a home fails, so what could not be done is done later. Pagers
 * report on their threads; the thread of {@link Spaces} decides what is asked for.
 */
public final class Drops {
    private static final Logger log = LoggerFactory.getLogger(Drops.class);

    private final SpaceRequests requests;
    private final LongFunction<Optional<AttachedSpace>> attached;
    private final Runnable wake;
    private final Runnable refresh;
    private final Queue<Suspicion> suspicions = new ConcurrentLinkedQueue<>();
    private final Set<Writer> writers = ConcurrentHashMap.newKeySet();
    private final Allocations allocations;
    private final Consumer<SpaceExtents> restrict;
    private volatile boolean complained;

    /** @param joins whether the home joins, and must be dropped where it does */
    private record Suspicion(Writer by, String home, long homeIncarnation, boolean silent, boolean joins) {
        boolean isAbout(ExtentHome one) {
            return one.node().equals(home) && one.incarnation().value() == homeIncarnation;
        }

        String name() {
            return "drop of %s %s of space %d".formatted(joins ? "joining home" : "home", home, by.space);
        }
    }

    /**
     * @param attached the space of an id, if this node is attached to it
     * @param wake has the thread look at what was reported
     * @param refresh has the document asked for
     * @param restrict stops the use of keys that extents do not have
     */
    Drops(
            SpaceRequests requests,
            LongFunction<Optional<AttachedSpace>> attached,
            Runnable wake,
            Runnable refresh,
            Consumer<SpaceExtents> restrict) {
        this.restrict = restrict;
        this.allocations = new Allocations(requests, this::use, refresh);
        this.requests = requests;
        this.attached = attached;
        this.wake = wake;
        this.refresh = refresh;
    }

    /**
     * How a pager treats homes.
     *
     * @param hedge how long a READ may take before another home is asked as well
     * @param dropAfter how long a WRITE may take before its home is dropped
     * @param repairRate bytes a second, at most, that are copied to homes that join
     */
    public record Options(Duration hedge, Duration dropAfter, long repairRate) {
        /** The defaults. */
        public static final Options DEFAULT = new Options(Mirroring.HEDGE, Mirroring.DROP_AFTER, Mirroring.REPAIR_RATE);
    }

    /**
     * The pagers of one guest. All of them count until the last has closed: an extent may have pages of several pagers,
     * and is copied only when each of them has copied its own.
     */
    public final class Writers {
        private final Set<Writer> open = ConcurrentHashMap.newKeySet();
        private final Set<Writer> closed = ConcurrentHashMap.newKeySet();

        private Writers() {}

        /**
         * A pager begins to use a space. No pager of the guest runs before each of them was added.
         *
         * @param first the map that it begins with, or an earlier one
         * @param isUp whether the link to a node is up
         * @param wake has the pager look at the map
         */
        public Writer add(SpaceMap first, Options options, Predicate<String> isUp, Runnable wake) {
            Writer writer = new Writer(this, first, options, isUp, wake);
            open.add(writer);
            writers.add(writer);
            return writer;
        }

        private void close(Writer one) {
            one.settled = Long.MAX_VALUE;
            closed.add(one);
            open.remove(one);
            if (open.isEmpty()) {
                writers.removeAll(closed);
            }
            wake.run();
        }
    }

    /** A pager of a space, as long as it may have transfers under way. */
    public final class Writer implements Mirroring, AutoCloseable {
        private final Writers guest;
        private final long space;
        private final Options options;
        private final Predicate<String> isUp;
        private final Runnable wake;
        /** First pages of the extents that this pager has pages of. */
        private final Set<Long> extents;
        /** Those of them whose pages are at the home that joins. */
        private final Set<ExtentEpoch> copied = ConcurrentHashMap.newKeySet();
        /** Those of them whose WRITEs this pager notes. */
        private final Set<ExtentEpoch> noted = ConcurrentHashMap.newKeySet();
        /** Those of them that have pages to be written and no home. */
        private final Set<ExtentEpoch> wanted = ConcurrentHashMap.newKeySet();

        private volatile long settled;
        private volatile boolean roomless;

        private Writer(Writers guest, SpaceMap first, Options options, Predicate<String> isUp, Runnable wake) {
            this.guest = guest;
            space = first.id();
            extents =
                    IntStream.range(0, first.extents()).mapToObj(first::origin).collect(Collectors.toSet());
            this.options = options;
            this.isUp = isUp;
            this.wake = wake;
            settled = first.revision();
        }

        private boolean hasCopied(ExtentEpoch extent) {
            return !extents.contains(extent.firstPage()) || copied.contains(extent);
        }

        /** Whether this pager has pages to be written to an extent without homes. */
        boolean wants(ExtentEpoch extent) {
            return wanted.contains(extent);
        }

        /** Says whether there is no room for what this pager wants. */
        void roomless(boolean is) {
            roomless = is;
            wake.run();
        }

        private boolean notes(ExtentEpoch extent) {
            return !extents.contains(extent.firstPage()) || noted.contains(extent);
        }

        @Override
        public long hedgeNanos() {
            return options.hedge().toNanos();
        }

        @Override
        public long dropNanos() {
            return options.dropAfter().toNanos();
        }

        @Override
        public void suspect(String home, long homeIncarnation, boolean silent) {
            report(new Suspicion(this, home, homeIncarnation, silent, false));
        }

        private void report(Suspicion suspicion) {
            suspicions.add(suspicion);
            Drops.this.wake.run();
        }

        @Override
        public long repairBytesPerSecond() {
            return options.repairRate();
        }

        @Override
        public void joiningFailed(String home, long homeIncarnation) {
            report(new Suspicion(this, home, homeIncarnation, true, true));
        }

        @Override
        public void mayPull(long firstPage, long epoch) {
            add(noted, new ExtentEpoch(firstPage, epoch));
        }

        @Override
        public void needsRoom(long firstPage, long epoch) {
            add(wanted, new ExtentEpoch(firstPage, epoch));
        }

        @Override
        public boolean hasNoRoom() {
            return roomless;
        }

        @Override
        public void copied(long firstPage, long epoch) {
            add(copied, new ExtentEpoch(firstPage, epoch));
        }

        private void add(Set<ExtentEpoch> to, ExtentEpoch extent) {
            to.removeIf(earlier -> earlier.firstPage() == extent.firstPage() && earlier.epoch() < extent.epoch());
            to.add(extent);
            Drops.this.wake.run();
        }

        @Override
        public void settled(long revision) {
            settled = revision;
            Drops.this.wake.run();
        }

        @Override
        public void close() {
            guest.close(this);
        }
    }

    /** Room for thin spaces. */
    Allocations allocations() {
        return allocations;
    }

    /** For the pagers of one guest. */
    public Writers writers() {
        return new Writers();
    }

    /** Asks for the drops that pagers have reported. One that waits for an earlier one of its home stays reported. */
    void drop(Errands errands) {
        suspicions.removeIf(each -> errands.begin(each.name(), () -> drop(each)));
    }

    /** Asks for what the pagers have made ready. */
    void settle(Errands errands) {
        writers.stream()
                .map(writer -> writer.space)
                .distinct()
                .flatMap(id -> attached.apply(id).stream())
                .forEach(space -> {
                    acknowledge(space, errands);
                    allocations.settle(space, writersOf(space), errands);
                    allowPulls(space, errands);
                    promote(space, errands);
                });
    }

    private void drop(Suspicion suspicion) {
        // A link that broke and is up again takes WRITEs again.
        if (suspicion.silent() || !suspicion.by().isUp.test(suspicion.home())) {
            attached.apply(suspicion.by().space).ifPresent(space -> drop(space, suspicion));
        }
    }

    private void drop(AttachedSpace space, Suspicion suspicion) {
        List<ExtentEpoch> affected = space.extents().extents().stream()
                .filter(extent -> isToBeDropped(extent, suspicion))
                .map(ExtentEpoch::of)
                .toList();
        if (affected.isEmpty()) {
            return;
        }
        try {
            SpaceExtents now =
                    requests.drop(space.id(), suspicion.home(), new Incarnation(suspicion.homeIncarnation()), affected);
            complained = false;
            if (suspicion.joins()) {
                log.warn(
                        "space {}: node {} joins {} extents no more: it has missed a page; their pages are at their"
                                + " other homes",
                        space.name(),
                        suspicion.home(),
                        affected.size());
            } else {
                log.error(
                        "space {}: node {} is dropped from the homes of {} extents: {}; their pages have {} homes or"
                                + " fewer left",
                        space.name(),
                        suspicion.home(),
                        affected.size(),
                        suspicion.silent() ? "it has not answered a WRITE" : "its link is down",
                        space.extents().space().copies() - 1);
            }
            use(space, now);
        } catch (CoordinatorRefusedException e) {
            log.warn("space {}: node {} is not dropped: {}", space.name(), suspicion.home(), e.getMessage());
            refresh.run();
        } catch (CoordinatorException e) {
            if (!complained) {
                complained = true;
                log.warn(
                        "space {}: node {} takes no WRITEs and is not dropped yet: {}; pages that are not at their"
                                + " homes stay resident",
                        space.name(),
                        suspicion.home(),
                        e.getMessage());
            }
        }
    }

    private boolean isToBeDropped(Extent extent, Suspicion suspicion) {
        if (suspicion.joins()) {
            return extent.joining().filter(suspicion::isAbout).isPresent();
        }
        return extent.homes().stream().anyMatch(suspicion::isAbout)
                && extent.homes().stream()
                        .map(ExtentHome::node)
                        .anyMatch(home -> !home.equals(suspicion.home())
                                && (home.equals(requests.node())
                                        || suspicion.by().isUp.test(home)));
    }

    private List<Writer> writersOf(AttachedSpace space) {
        return writers.stream().filter(writer -> writer.space == space.id()).toList();
    }

    /**
     * The extents with a joining home for which a condition holds, in every pager that has pages of them. At least one
     * has, unless the extent is behind the pages of the guest: no pager writes to it.
     */
    private static List<ExtentEpoch> joined(
            AttachedSpace space,
            List<Writer> all,
            Predicate<Extent> which,
            BiPredicate<Writer, ExtentEpoch> condition) {
        long pages = space.map().pages();
        return space.extents().extents().stream()
                .filter(extent -> extent.joining().isPresent() && which.test(extent))
                .map(ExtentEpoch::of)
                .filter(extent -> extent.firstPage() >= pages
                        || all.stream().anyMatch(writer -> writer.extents.contains(extent.firstPage())))
                .filter(extent -> all.stream().allMatch(writer -> condition.test(writer, extent)))
                .toList();
    }

    private static boolean isPull(Extent extent, PullState state) {
        return extent.pull().filter(state::equals).isPresent();
    }

    /** Lets homes pull that join an extent whose WRITEs every pager notes. */
    private void allowPulls(AttachedSpace space, Errands errands) {
        List<ExtentEpoch> noted =
                joined(space, writersOf(space), extent -> isPull(extent, PullState.AWAITED), Writer::notes);
        ask(errands, space, "pull", noted, () -> use(space, requests.allowPulls(space.id(), noted)));
    }

    /** Requests the promotion of homes to which every pager of a space has copied its pages. */
    private void promote(AttachedSpace space, Errands errands) {
        List<Writer> all = writersOf(space);
        List<ExtentEpoch> complete = joined(space, all, extent -> isPull(extent, PullState.DONE), Writer::hasCopied);
        ask(errands, space, "promotion", complete, () -> {
            try {
                SpaceExtents now = requests.promote(space.id(), complete);
                log.info("space {}: {} extents have another home", space.name(), complete.size());
                use(space, now);
            } catch (CoordinatorRefusedException e) {
                all.forEach(writer -> complete.forEach(writer.copied::remove));
                throw e;
            }
        });
    }

    private void acknowledge(AttachedSpace space, Errands errands) {
        SpaceExtents extents = space.extents();
        List<ExtentEpoch> epochs = extents.extents().stream()
                .filter(extent -> !extent.droppedHomes().isEmpty())
                .map(ExtentEpoch::of)
                .toList();
        boolean settled = writersOf(space).stream().allMatch(writer -> writer.settled >= extents.revision());
        if (settled) {
            ask(
                    errands,
                    space,
                    "acknowledgement of drops",
                    epochs,
                    () -> use(space, requests.acknowledgeDrops(space.id(), epochs)));
        }
    }

    /** Asks for a change of extents, if there are any. Another request may have changed their epochs meanwhile. */
    private void ask(
            Errands errands, AttachedSpace space, String what, List<ExtentEpoch> extents, Errands.Request change) {
        if (extents.isEmpty()) {
            return;
        }
        errands.begin("%s of space %d".formatted(what, space.id()), () -> {
            try {
                change.run();
            } catch (CoordinatorRefusedException e) {
                log.warn("space {}: no {}: {}", space.name(), what, e.getMessage());
                refresh.run();
                throw e;
            }
        });
    }

    /** Hands the extents of a space to its pagers, unless they have later ones. Returns whether. Any thread. */
    boolean use(AttachedSpace space, SpaceExtents now) {
        boolean isLater = space.update(now, restrict);
        if (isLater) {
            // The pagers of clones read from the homes of their snapshot.
            boolean isSnapshot = now.space().snapshot().isPresent();
            writers.stream()
                    .filter(writer -> isSnapshot || writer.space == space.id())
                    .forEach(writer -> writer.wake.run());
        }
        return isLater;
    }
}
