package io.farpage.agent.control.space;

import io.farpage.agent.control.ControlThread;
import io.farpage.agent.data.pager.Mirroring;
import io.farpage.agent.data.pager.SpaceMap;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.DropRequest;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.PullState;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.model.WriterRequest;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiPredicate;
import java.util.function.LongFunction;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks the coordinator to drop homes that do not take the WRITEs of this agent's guests, and to promote homes that join
 * once all pagers of the guest have copied their pages. Acknowledges each drop once no pager has anything under way to
 * the dropped home. A pager repeats its report while a home fails, so what could not be done is done later.
 * Thread-safe.
 */
public final class Drops implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Drops.class);
    private static final Duration RETRY = Duration.ofMillis(50);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

    private final CoordinatorClient coordinator;
    private final String node;
    private final Incarnation incarnation;
    private final LongFunction<@Nullable AttachedSpace> attached;
    private final Queue<Suspicion> suspicions = new ConcurrentLinkedQueue<>();
    private final Set<Writer> writers = ConcurrentHashMap.newKeySet();
    private final AtomicLong dropped = new AtomicLong();
    private final AtomicLong promoted = new AtomicLong();
    private final ControlThread thread = new ControlThread(
            "drops", new ControlThread.Pauses(ControlThread.UNTIL_WOKEN, RETRY, CLOSE_TIMEOUT), this::step);
    private boolean complained;

    /** @param joins whether the home joins, and is to be dropped where it does */
    private record Suspicion(Writer by, String home, long homeIncarnation, boolean silent, boolean joins) {
        boolean isAbout(ExtentHome one) {
            return one.node().equals(home) && one.incarnation().value() == homeIncarnation;
        }
    }

    /** @param attached the space of an id, or null */
    Drops(
            CoordinatorClient coordinator,
            String node,
            Incarnation incarnation,
            LongFunction<@Nullable AttachedSpace> attached) {
        this.coordinator = coordinator;
        this.node = node;
        this.incarnation = incarnation;
        this.attached = attached;
    }

    void start() {
        thread.start();
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
            thread.wake();
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

        private volatile long settled;

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
            suspicions.add(new Suspicion(this, home, homeIncarnation, silent, false));
            thread.wake();
        }

        @Override
        public long repairBytesPerSecond() {
            return options.repairRate();
        }

        @Override
        public void joiningFailed(String home, long homeIncarnation) {
            suspicions.add(new Suspicion(this, home, homeIncarnation, true, true));
            thread.wake();
        }

        @Override
        public void mayPull(long firstPage, long epoch) {
            add(noted, new ExtentEpoch(firstPage, epoch));
        }

        @Override
        public void copied(long firstPage, long epoch) {
            add(copied, new ExtentEpoch(firstPage, epoch));
        }

        private void add(Set<ExtentEpoch> to, ExtentEpoch extent) {
            to.removeIf(earlier -> earlier.firstPage() == extent.firstPage() && earlier.epoch() < extent.epoch());
            to.add(extent);
            thread.wake();
        }

        @Override
        public void settled(long revision) {
            settled = revision;
            thread.wake();
        }

        @Override
        public void close() {
            guest.close(this);
        }
    }

    /** For the pagers of one guest. */
    public Writers writers() {
        return new Writers();
    }

    /** Homes dropped so far, once for each extent. */
    public long dropped() {
        return dropped.get();
    }

    /** Homes promoted so far, once for each extent. */
    public long promoted() {
        return promoted.get();
    }

    private Duration step() throws CoordinatorException {
        for (Suspicion next = suspicions.poll(); next != null; next = suspicions.poll()) {
            drop(next);
        }
        for (Writer writer : writers) {
            AttachedSpace space = attached.apply(writer.space);
            if (space != null) {
                acknowledge(space);
                allowPulls(space);
                promote(space);
            }
        }
        return ControlThread.UNTIL_WOKEN;
    }

    private void drop(Suspicion suspicion) {
        Writer by = suspicion.by();
        AttachedSpace space = attached.apply(by.space);
        // A link that broke and is up again takes WRITEs again.
        if (space == null || (!suspicion.silent() && by.isUp.test(suspicion.home()))) {
            return;
        }
        Incarnation homeIncarnation = new Incarnation(suspicion.homeIncarnation());
        List<Extent> affected = space.extents().extents().stream()
                .filter(extent -> isToBeDropped(extent, suspicion))
                .toList();
        if (affected.isEmpty()) {
            return;
        }
        try {
            SpaceExtents now = coordinator.drop(
                    Long.toString(space.id()),
                    node,
                    new DropRequest(
                            incarnation,
                            suspicion.home(),
                            homeIncarnation,
                            affected.stream().map(ExtentEpoch::of).toList()));
            complained = false;
            if (suspicion.joins()) {
                log.warn(
                        "space {}: node {} joins {} extents no more: it has missed a page; their pages are at their"
                                + " other homes",
                        space.name(),
                        suspicion.home(),
                        affected.size());
                use(space, now);
                return;
            }
            dropped.addAndGet(affected.size());
            log.error(
                    "space {}: node {} is dropped from the homes of {} extents: {}; their pages have {} homes or fewer"
                            + " left",
                    space.name(),
                    suspicion.home(),
                    affected.size(),
                    suspicion.silent() ? "it has not answered a WRITE" : "its link is down",
                    space.extents().space().copies() - 1);
            use(space, now);
        } catch (CoordinatorRefusedException e) {
            log.warn("space {}: node {} is not dropped: {}", space.name(), suspicion.home(), e.getMessage());
            refresh(space);
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
                                && (home.equals(node) || suspicion.by().isUp.test(home)));
    }

    private List<Writer> writersOf(AttachedSpace space) {
        return writers.stream().filter(writer -> writer.space == space.id()).toList();
    }

    /**
     * The extents with a joining home for which a condition holds, in every pager that has pages of them; at least one
     * has.
     */
    private static List<ExtentEpoch> joined(
            Stream<Extent> extents, List<Writer> all, BiPredicate<Writer, ExtentEpoch> condition) {
        return extents.filter(extent -> extent.joining().isPresent())
                .map(ExtentEpoch::of)
                .filter(extent -> all.stream().anyMatch(writer -> writer.extents.contains(extent.firstPage())))
                .filter(extent -> all.stream().allMatch(writer -> condition.test(writer, extent)))
                .toList();
    }

    /** Lets homes pull that join an extent whose WRITEs every pager notes. */
    private void allowPulls(AttachedSpace space) throws CoordinatorException {
        Stream<Extent> awaited = space.extents().extents().stream()
                .filter(extent ->
                        extent.pull().filter(PullState.AWAITED::equals).isPresent());
        List<ExtentEpoch> noted = joined(awaited, writersOf(space), Writer::notes);
        if (noted.isEmpty()) {
            return;
        }
        try {
            use(space, coordinator.allowPulls(Long.toString(space.id()), node, new WriterRequest(incarnation, noted)));
        } catch (CoordinatorRefusedException e) {
            log.warn("space {}: no home pulls pages: {}", space.name(), e.getMessage());
            refresh(space);
        }
    }

    /** Has homes promoted to which every pager of a space has copied its pages. */
    private void promote(AttachedSpace space) throws CoordinatorException {
        List<Writer> all = writersOf(space);
        List<ExtentEpoch> complete = joined(space.extents().extents().stream(), all, Writer::hasCopied);
        if (complete.isEmpty()) {
            return;
        }
        try {
            SpaceExtents now =
                    coordinator.promote(Long.toString(space.id()), node, new WriterRequest(incarnation, complete));
            promoted.addAndGet(complete.size());
            log.info("space {}: {} extents have another home", space.name(), complete.size());
            use(space, now);
        } catch (CoordinatorRefusedException e) {
            log.warn("space {}: no home is promoted: {}", space.name(), e.getMessage());
            all.forEach(writer -> complete.forEach(writer.copied::remove));
            refresh(space);
        }
    }

    /** Another request may have changed the epochs. */
    private void refresh(AttachedSpace space) {
        try {
            Optional<SpaceExtents> now = coordinator.extents(Long.toString(space.id()));
            now.ifPresent(latest -> use(space, latest));
        } catch (CoordinatorException e) {
            log.debug("the extents of space {} are read again later", space.name(), e);
        }
    }

    private void use(AttachedSpace space, SpaceExtents now) {
        space.update(now);
        writersOf(space).forEach(writer -> writer.wake.run());
    }

    private void acknowledge(AttachedSpace space) throws CoordinatorException {
        SpaceExtents extents = space.extents();
        List<ExtentEpoch> epochs = extents.extents().stream()
                .filter(extent -> !extent.droppedHomes().isEmpty())
                .map(ExtentEpoch::of)
                .toList();
        boolean settled = writersOf(space).stream().allMatch(writer -> writer.settled >= extents.index());
        if (epochs.isEmpty() || !settled) {
            return;
        }
        try {
            use(
                    space,
                    coordinator.acknowledgeDrops(
                            Long.toString(space.id()), node, new WriterRequest(incarnation, epochs)));
        } catch (CoordinatorRefusedException e) {
            log.warn("space {}: a drop is not acknowledged: {}", space.name(), e.getMessage());
        }
    }

    @Override
    public void close() {
        thread.close();
    }
}
