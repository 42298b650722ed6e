package io.farpage.coordinator.figures;

import io.farpage.coordinator.cluster.Time;
import io.farpage.coordinator.model.DirectoryFigures;
import io.farpage.coordinator.model.FaultFigures;
import io.farpage.coordinator.model.FaultHistory;
import io.farpage.coordinator.model.FiguresReport;
import io.farpage.coordinator.model.FiguresWanted;
import io.farpage.coordinator.model.GuestPages;
import io.farpage.coordinator.model.PageMap;
import io.farpage.rest.ProblemException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The figures of the last 15 minutes, and the last report of each home of coherent spaces. A coordinator that starts,
 * or begins to lead, has none from before. Thread-safe.
 */
public final class Figures {
    /** Nodes and guests together: about 40 MB. */
    static final int MAX_HISTORIES = 8192;

    /** Guests whose maps are kept and asked for, each about 6 KB. */
    static final int MAX_MAPS = 64;

    private static final Duration KEPT = Duration.ofMinutes(15);
    /** How long after it was last looked at a map is still asked for. */
    private static final Duration MAPPED = Duration.ofSeconds(30);
    /** How long a home's last report is shown: as long as three of them take. */
    private static final Duration PRESENT = Duration.ofSeconds(15);

    private final Time time;
    private final long beganNanos;
    private final long began;
    private final Map<String, Series> nodes = new HashMap<>();
    private final Map<Long, Series> guests = new HashMap<>();
    private final Map<Long, Mapped> maps = new HashMap<>();

    /** What is kept of a node or a guest. */
    private static final class Series {
        private final History history = new History();
        private long latest;
        private @Nullable Guest guest;
        private Directories directories = new Directories(0, List.of());
    }

    /** What a node has reported as a home of coherent spaces, and when. */
    private record Directories(long at, List<DirectoryFigures> all) {}

    /**
     * A guest as it was reported last.
     *
     * @param node that has reported it
     * @param pages where they were
     * @param parkedSince since when it is parked
     */
    public record Guest(String node, GuestPages pages, OptionalLong parkedSince) {}

    /** A map that is looked at: until when it is asked for, and what has come. */
    private record Mapped(long until, Optional<PageMap> map) {}

    /** Has no figures yet. */
    public Figures(Time time) {
        this.time = time;
        beganNanos = time.nanos();
        began = time.now().getEpochSecond();
    }

    /** When this began, in seconds since 1970. */
    public long since() {
        return began;
    }

    /**
     * The time of this moment, in seconds since 1970. It never goes back, whatever is done to the clock of the machine.
     */
    public long now() {
        return began + TimeUnit.NANOSECONDS.toSeconds(time.nanos() - beganNanos);
    }

    /**
     * Adds what a node reports.
     *
     * @param report of guests and directories that are the node's to report
     * @return the guests whose maps are looked at
     * @throws ProblemException 503 if the table of histories has no room for those of this report
     */
    public synchronized FiguresWanted report(String node, FiguresReport report) {
        makeRoom(node, report.guests());
        Series ofNode = nodes.computeIfAbsent(node, id -> new Series());
        add(ofNode, report.millis(), report.faults());
        report.directories().ifPresent(all -> ofNode.directories = new Directories(now(), all));
        for (FiguresReport.Guest guest : report.guests()) {
            Series series = guests.computeIfAbsent(guest.space(), id -> new Series());
            add(series, report.millis(), guest.faults());
            series.guest = new Guest(node, guest.pages(), guest.parkedSince());
            guest.map()
                    .ifPresent(map -> maps.computeIfPresent(
                            guest.space(), (space, before) -> new Mapped(before.until(), Optional.of(map))));
        }
        long now = now();
        maps.values().removeIf(map -> map.until() < now);
        return new FiguresWanted(
                report.guests().stream()
                        .map(FiguresReport.Guest::space)
                        .filter(maps::containsKey)
                        .toList(),
                true);
    }

    private void add(Series series, long millis, FaultFigures faults) {
        series.latest = now();
        series.history.add(series.latest, millis, faults);
    }

    private void makeRoom(String node, List<FiguresReport.Guest> reported) {
        long fresh = reported.stream()
                .filter(guest -> !guests.containsKey(guest.space()))
                .count();
        long needed = nodes.size() + guests.size() + fresh + (nodes.containsKey(node) ? 0 : 1);
        if (needed <= MAX_HISTORIES) {
            return;
        }
        long oldest = oldest();
        int before = nodes.size() + guests.size();
        nodes.values().removeIf(series -> series.latest <= oldest);
        guests.values().removeIf(series -> series.latest <= oldest);
        if (needed - (before - nodes.size() - guests.size()) > MAX_HISTORIES) {
            throw new ProblemException(
                            503,
                            "overloaded",
                            "figures of %d nodes and guests are kept; node '%s' and its %d guests have no room"
                                    .formatted(MAX_HISTORIES, node, reported.size()))
                    .withRetryAfter((int) KEPT.toSeconds());
        }
    }

    private long oldest() {
        return now() - KEPT.toSeconds();
    }

    /** The nodes that have reported lately. */
    public synchronized Set<String> nodes() {
        long oldest = oldest();
        nodes.values().removeIf(series -> series.latest <= oldest);
        return Set.copyOf(nodes.keySet());
    }

    /** The spaces of the guests that were reported lately. */
    public synchronized Set<Long> spaces() {
        long oldest = oldest();
        guests.values().removeIf(series -> series.latest <= oldest);
        return Set.copyOf(guests.keySet());
    }

    /** The samples of a node after a time, in seconds since 1970. */
    public synchronized FaultHistory ofNode(String node, long after) {
        return history(nodes.get(node), after);
    }

    /** The samples of a guest after a time, in seconds since 1970. */
    public synchronized FaultHistory ofGuest(long space, long after) {
        return history(guests.get(space), after);
    }

    private FaultHistory history(@Nullable Series series, long after) {
        return (series == null ? new History() : series.history).after(Math.max(after, oldest()));
    }

    /** A guest as it was reported last; empty if that is long ago. */
    public synchronized Optional<Guest> guest(long space) {
        long oldest = oldest();
        return Optional.ofNullable(guests.get(space))
                .filter(series -> series.latest > oldest)
                .map(series -> series.guest);
    }

    /** What a home has done for the members of a coherent space; empty if it has not reported that lately. */
    public synchronized Optional<DirectoryFigures> directory(String home, long space) {
        return Optional.ofNullable(nodes.get(home))
                .map(series -> series.directories)
                .filter(reported -> reported.at() > now() - PRESENT.toSeconds())
                .flatMap(reported -> reported.all().stream()
                        .filter(one -> one.space() == space)
                        .findFirst());
    }

    /**
     * Where the pages of a guest are; empty until its agent has said so. It is asked for that for half a minute from
     * now on.
     */
    public synchronized Optional<PageMap> map(long space) {
        Optional<PageMap> known = Optional.ofNullable(maps.get(space)).flatMap(Mapped::map);
        long now = now();
        maps.values().removeIf(map -> map.until() < now);
        if (maps.containsKey(space) || maps.size() < MAX_MAPS) {
            maps.put(space, new Mapped(now + MAPPED.toSeconds(), known));
        }
        return known;
    }
}
