package io.farpage.coordinator.cluster;

import io.farpage.coordinator.extent.ExtentCommand;
import io.farpage.coordinator.extent.ExtentLife;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.PullReport;
import io.farpage.coordinator.model.PullState;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.WriterRequest;
import io.farpage.coordinator.store.Change;
import io.farpage.coordinator.store.Table;
import io.farpage.rest.Json;
import io.farpage.rest.ProblemException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Brings extents back to as many homes as their space was made with, and moves them away from nodes that are drained or
 * have failed. This class chooses a home that joins, which pulls the pages ({@link Pulls}). The attached node, the only
 * writer, then copies what it has written meanwhile and asks for the promotion, a compare-and-swap on the extent's
 * epoch; where no node is attached, the end of the pull is the promotion. If a home joins in place of one that is
 * drained, the promotion drops that one in the same epoch, so an extent never has more homes than its space asks for.
 * {@link Moves} are the same for single extents. A pass is planned on a state that does not change, while other changes
 * are made, and only what still fits is changed. Thread-safe.
 */
public final class Repairs {

    /**
     * Extents of one space that have a joining home at a time: each costs another WRITE for every page that is evicted.
     */
    static final int JOINING_AT_ONCE = 16;

    /** Homes that begin to join in one pass, in the whole cluster: the commit of a pass stays short. */
    static final int JOINING_IN_A_PASS = 128;

    /** Spaces that one pass changes. */
    private static final int SPACES_IN_A_PASS = 128;

    /** A home that was dropped while it joined is not chosen for the same space before so long has passed. */
    static final Duration PAUSE = Duration.ofSeconds(5);

    /** A pass over a state that has not changed since: room may be free, or a pause over. */
    private static final Duration REPEAT = Duration.ofSeconds(1);

    /** A space whose extents are too many for a row is tried again after so long. */
    static final Duration LEFT_OUT = Duration.ofMinutes(10);

    private static final Logger LOG = LoggerFactory.getLogger(Repairs.class);

    private final Ledger ledger;
    private final Time time;
    private final Moves moves;
    private final Absences absences;

    /**
     * Joining homes at the last pass, by space, first page and node: those that are gone without being promoted have
     * failed.
     */
    private Set<Joining> joined = Set.of();

    /** As of the last pass. */
    private Rooms rooms;

    /** Revision of the last pass. */
    private long seen = -1;

    private long seenAt;
    private final Map<String, Long> failedAt = new ConcurrentHashMap<>();

    /**
     * Spaces whose homes have not recorded a promotion yet, so that a rebuild might still take a replaced home for a
     * source of pages.
     */
    private final Map<Long, Integer> settling = new ConcurrentHashMap<>();

    /** Spaces whose extents the store could not take with another home, by their key. */
    private final Map<String, Long> tooLongAt = new ConcurrentHashMap<>();

    private record Joining(long space, long firstPage, ExtentHome home) {}

    /**
     * Works on a ledger.
     *
     * @param grace how long after its lease has run out a node may be back before its homes are replaced
     */
    public Repairs(Ledger ledger, Time time, Moves moves, Duration grace) {
        this.ledger = ledger;
        this.time = time;
        this.moves = moves;
        this.absences = new Absences(time, grace);
        this.rooms = new Rooms(new Draft(ledger.state()));
    }

    /**
     * Makes homes join extents that need one, and reports drained nodes. To be called often; one thread, which may take
     * long if there are many extents. Returns how many joined.
     */
    public int step() {
        long revision = ledger.revision();
        if (seen == revision && time.nanos() - seenAt < REPEAT.toNanos() && !moves.hasFresh()) {
            return 0;
        }
        seen = revision;
        seenAt = time.nanos();
        State now = ledger.state();
        observe(now);
        absences.observe(now);
        moves.follow(now);
        return plan(now).map(plan -> ledger.change(draft -> apply(draft, plan))).orElse(0);
    }

    /**
     * What a pass changes, worked out while other changes are made.
     *
     * @param of the state that it is for
     */
    private record Plan(State of, List<SpacePlan> spaces) {}

    /**
     * What happens to the extents of a space, if it is as it was.
     *
     * @param commands by the first page of an extent
     * @param places where homes join, each with its bytes
     */
    private record SpacePlan(
            Space space,
            Optional<Attachment> writer,
            List<Extent> before,
            Map<Long, ExtentCommand> commands,
            Map<ExtentHome, Long> places) {
        List<ExtentCommand> of(Extent extent) {
            return Optional.ofNullable(commands.get(extent.firstPage())).stream()
                    .toList();
        }

        List<Extent> after() {
            return before.stream()
                    .map(extent -> of(extent).stream().reduce(extent, ExtentLife::apply, (_, last) -> last))
                    .toList();
        }
    }

    private Optional<Plan> plan(State now) {
        Draft view = new Draft(now);
        if (!rooms.isStillOf(now)) {
            rooms = new Rooms(view);
        }
        List<SpacePlan> spaces = new ArrayList<>();
        int left = JOINING_IN_A_PASS;
        for (Space space : view.spaces.values()) {
            if (left <= 0 || spaces.size() >= SPACES_IN_A_PASS) {
                break;
            }
            Optional<SpacePlan> plan = plan(view, space, left).filter(this::fits);
            plan.ifPresent(spaces::add);
            left -= plan.map(each -> each.places().size()).orElse(0);
        }
        Draft drained = new Draft(now);
        Drains.tell(drained);
        return spaces.isEmpty() && !drained.isChanged() ? Optional.empty() : Optional.of(new Plan(now, spaces));
    }

    /**
     * Whether the store takes the extents. If it does not, the space is left out for a while: all spaces are repaired
     * in one change.
     */
    private boolean fits(SpacePlan plan) {
        String key = State.idKey(plan.space().id());
        String row = Json.STRICT.writeValueAsString(new State.Extents(plan.after()));
        if (!ledger.isTooLong(new Change(Table.EXTENTS, key, Optional.of(row)))) {
            return true;
        }
        tooLongAt.put(key, time.nanos());
        LOG.warn(
                "space {} is not repaired: the row of its extents would be longer than the store takes",
                plan.space().name());
        return false;
    }

    /**
     * Makes the part of a plan that still fits: what other changes have touched since is planned again. Returns how
     * many homes join.
     */
    private int apply(Draft draft, Plan plan) {
        Optional<Rooms> changed =
                Rooms.isSame(plan.of(), draft.finished()) ? Optional.empty() : Optional.of(new Rooms(draft));
        int joined = 0;
        for (SpacePlan each : plan.spaces()) {
            if (!isCurrent(draft, each)
                    || !changed.map(now -> each.places().entrySet().stream()
                                    .allMatch(place -> now.take(place.getKey(), place.getValue())))
                            .orElse(true)) {
                continue;
            }
            Space space = each.space();
            draft.extents.change(space, each::of);
            if (mayGiveBack(draft, space)) {
                Drops.giveBackAll(draft, space);
            }
            joined += each.places().size();
        }
        Drains.tell(draft);
        return joined;
    }

    private static boolean isCurrent(Draft draft, SpacePlan plan) {
        Space space = plan.space();
        return draft.spaces.find(State.idKey(space.id())).filter(space::equals).isPresent()
                && draft.extents.of(space).equals(plan.before())
                && (plan.writer().isEmpty()
                        ? Pulls.isUnattended(draft, space)
                        : writer(draft, space).equals(plan.writer()));
    }

    private boolean mayGiveBack(Draft draft, Space space) {
        return Pulls.isUnattended(draft, space) && !settling.containsKey(space.id());
    }

    private void observe(State state) {
        Set<Joining> now = new HashSet<>();
        Set<Joining> homes = new HashSet<>();
        for (Space space : state.spaces().values()) {
            for (Extent extent : state.extentsOf(space)) {
                extent.joining().ifPresent(home -> now.add(new Joining(space.id(), extent.firstPage(), home)));
                extent.homes().forEach(home -> homes.add(new Joining(space.id(), extent.firstPage(), home)));
            }
        }
        for (Joining before : joined) {
            if (!now.contains(before) && !homes.contains(before)) {
                failedAt.put(key(before.space(), before.home().node()), time.nanos());
            }
        }
        joined = now;
        failedAt.values().removeIf(at -> time.nanos() - at > PAUSE.toNanos());
        tooLongAt.values().removeIf(at -> time.nanos() - at > LEFT_OUT.toNanos());
    }

    private static String key(long space, String node) {
        return space + "/" + node;
    }

    private Optional<SpacePlan> plan(Draft view, Space space, int most) {
        if (space.deleting() || tooLongAt.containsKey(State.idKey(space.id())) || !needsChange(view, space)) {
            return Optional.empty();
        }
        Optional<Attachment> writer = writer(view, space);
        boolean unattended = Pulls.isUnattended(view, space);
        if (!unattended && writer.isEmpty()) {
            return Optional.empty();
        }
        // A pull under a guest begins when the guest's agent notes what it writes.
        PullState begins = unattended ? PullState.RUNNING : PullState.AWAITED;
        List<Extent> before = view.extents.of(space);
        int left = JOINING_AT_ONCE
                - (int) before.stream()
                        .filter(extent -> extent.joining().isPresent())
                        .count();
        left = Math.min(left, most);
        Set<String> failed = failedFor(space);
        Map<ExtentHome, Long> places = new HashMap<>();
        Map<Long, ExtentCommand> commands = new HashMap<>();
        for (Extent extent : before) {
            if (isJoiningInVain(view, space, extent)) {
                commands.put(
                        extent.firstPage(),
                        new ExtentCommand.Drop(extent.joining().orElseThrow()));
                continue;
            }
            List<ExtentHome> beside = beside(view, space, extent);
            if (left <= 0 || !needsHome(space, extent, beside) || !Pulls.hasSource(view, extent)) {
                continue;
            }
            Optional<String> target = move(view, space, extent).map(Move::to);
            Optional<ExtentHome> home =
                    new NewHome(view, rooms, extent, beside, space.pageSize()).choose(new Avoided(failed, target));
            if (home.isPresent()) {
                commands.put(extent.firstPage(), new ExtentCommand.Join(home.get(), begins));
                long bytes = extent.count() * space.pageSize();
                rooms.take(home.get(), bytes);
                places.put(home.get(), bytes);
                left--;
            }
        }
        boolean isDropped = commands.values().stream().anyMatch(ExtentCommand.Drop.class::isInstance)
                || before.stream().anyMatch(extent -> !extent.droppedHomes().isEmpty());
        return commands.isEmpty() && !(isDropped && mayGiveBack(view, space))
                ? Optional.empty()
                : Optional.of(new SpacePlan(space, writer, before, commands, places));
    }

    /** The nodes that a home must not join on. */
    private record Avoided(Set<String> failed, Optional<String> target) implements Predicate<String> {
        @Override
        public boolean test(String node) {
            return failed.contains(node)
                    || target.filter(only -> !only.equals(node)).isPresent();
        }
    }

    private Set<String> failedFor(Space space) {
        String prefix = key(space.id(), "");
        return failedAt.keySet().stream()
                .filter(key -> key.startsWith(prefix))
                .map(key -> key.substring(prefix.length()))
                .collect(Collectors.toSet());
    }

    private boolean needsChange(Draft draft, Space space) {
        return draft.extents.of(space).stream()
                .anyMatch(extent -> needsHome(space, extent, beside(draft, space, extent))
                        || isJoiningInVain(draft, space, extent)
                        || (!extent.droppedHomes().isEmpty() && Pulls.isUnattended(draft, space)));
    }

    /**
     * Whether a home joins although enough homes stay, since a drain or move was cancelled, or the pages are lost; or
     * although it is in the failure domain of one that stays, since it was to take the place of that one and another
     * has failed; or although it cannot pull the pages, or nobody lets it begin.
     */
    private boolean isJoiningInVain(Draft draft, Space space, Extent extent) {
        if (extent.joining().isEmpty()) {
            return false;
        }
        List<ExtentHome> staying = staying(draft, space, extent);
        Optional<String> domain = domain(draft, extent.joining().get());
        return extent.state() == ExtentState.LOST
                || (isPulling(extent) && Pulls.isDead(draft, extent.joining().get()))
                || (Pulls.isUnattended(draft, space) && Pulls.isAwaited(extent))
                || staying.size() >= space.copies()
                || staying.stream().anyMatch(home -> domain(draft, home).equals(domain));
    }

    private static boolean isPulling(Extent extent) {
        return extent.pull().filter(state -> state != PullState.DONE).isPresent();
    }

    private static Optional<String> domain(Draft draft, ExtentHome home) {
        return draft.nodes.find(home.node()).map(Node::failureDomain);
    }

    /** Whether an extent has too few homes that stay, and none joins yet. */
    static boolean needsHome(Draft draft, Space space, Extent extent) {
        return needsHome(space, extent, kept(draft, extent));
    }

    private static boolean needsHome(Space space, Extent extent, List<ExtentHome> beside) {
        return extent.state() == ExtentState.OK && extent.joining().isEmpty() && beside.size() < space.copies();
    }

    /**
     * The homes that stay, and those on nodes that have failed and may be back soon: the homes that an extent has
     * beside one that joins.
     */
    private List<ExtentHome> beside(Draft draft, Space space, Extent extent) {
        List<ExtentHome> staying = staying(draft, space, extent);
        return extent.homes().stream()
                .filter(home -> staying.contains(home) || absences.isWithinGrace(draft, home))
                .toList();
    }

    /** The move of an extent, unless the extent needs a home for another reason: then that goes first. */
    private Optional<Move> move(Draft draft, Space space, Extent extent) {
        return moves.of(space.id(), extent).filter(_ -> kept(draft, extent).size() >= space.copies());
    }

    /** The homes of an extent that are kept and do not leave it by a move. */
    private List<ExtentHome> staying(Draft draft, Space space, Extent extent) {
        Optional<ExtentHome> leaving = move(draft, space, extent).map(Move::from);
        return kept(draft, extent).stream()
                .filter(home -> leaving.filter(home::equals).isEmpty())
                .toList();
    }

    /** The homes of an extent that are neither drained nor on a node whose lease has run out. */
    static List<ExtentHome> kept(Draft draft, Extent extent) {
        return extent.homes().stream().filter(home -> stays(draft, home)).toList();
    }

    private static boolean stays(Draft draft, ExtentHome home) {
        return !Drains.isDraining(draft, home.node())
                && draft.nodes
                        .find(home.node())
                        .filter(node -> node.status() != NodeStatus.FAILED)
                        .isPresent();
    }

    /** The only node that writes to a space, if one is attached so and its lease runs. */
    static Optional<Attachment> writer(Draft draft, Space space) {
        return Attachments.of(draft, space).stream()
                .filter(Attachment::mayRepair)
                .filter(attachment -> !Fences.isFailed(draft, attachment.node()))
                .filter(attachment -> Fences.awaited(draft, space, attachment).isEmpty())
                .findFirst();
    }

    /** The writer notes what it writes to extents, and the homes that join these may pull. Of all or of none. */
    public void allowPulls(String idOrName, String node, WriterRequest request) {
        ledger.change(draft -> {
            Space space = Drops.requireWriter(draft, idOrName, node, request.incarnation());
            return Pulls.allow(draft, space, request.extents());
        });
    }

    /**
     * The writer has copied all that it has noted: the joining homes of these extents are homes from now on. Of all or
     * of none.
     */
    public void promote(String idOrName, String node, WriterRequest request) {
        ledger.change(draft -> {
            Space space = Drops.requireWriter(draft, idOrName, node, request.incarnation());
            return promote(draft, space, request.extents());
        });
    }

    /**
     * A node that joins an extent has pulled all pages; or it gives up and is dropped. If no node is attached, its pool
     * is a home from now on, and the frames of homes that it replaces stay as they are until {@link #settled}.
     * Otherwise the attached node copies what it has written meanwhile.
     *
     * @return whether its pool is a home now
     */
    public boolean pulled(String node, PullReport report) {
        settling.merge(report.space(), 1, Integer::sum);
        return ledger.change(draft -> {
            Space space = draft.requireSpace(Long.toString(report.space()));
            Pulls.require(draft, space, node, report.incarnation(), report.extent());
            boolean isPulled = report.failure().isEmpty();
            draft.extents.change(space, List.of(report.extent()), extent -> isPulled ? finish(extent) : drop(extent));
            boolean isHome = isPulled && Pulls.isUnattended(draft, space);
            if (isHome) {
                promote(draft, space, List.of(report.extent()));
            }
            return isHome;
        });
    }

    /**
     * The homes have recorded what {@link #pulled} has changed: the frames of the homes that were replaced are zeroed,
     * and then free.
     */
    public void settled(long space) {
        settling.computeIfPresent(space, (_, count) -> count == 1 ? null : count - 1);
    }

    /** A report that comes again says nothing new. */
    private static List<ExtentCommand> finish(Extent extent) {
        return isPulling(extent) ? List.of(new ExtentCommand.FinishPull()) : List.of();
    }

    private static List<ExtentCommand> drop(Extent extent) {
        return List.of(new ExtentCommand.Drop(extent.joining().orElseThrow()));
    }

    private Space promote(Draft draft, Space space, List<ExtentEpoch> extents) {
        Set<String> fresh = new TreeSet<>();
        draft.extents.change(space, extents, extent -> {
            ExtentHome joining = extent.joining()
                    .filter(_ -> !isPulling(extent) && !isJoiningInVain(draft, space, extent))
                    .orElseThrow(() -> ProblemException.conflict(
                            "no-such-home",
                            "no home joins the extent at page %d of space '%s'"
                                    .formatted(extent.firstPage(), space.name())));
            fresh.add(joining.node());
            return List.of(new ExtentCommand.Promote(replaced(draft, space, extent)));
        });
        fresh.forEach(home -> draft.emit(EventKind.EXTENTS_REPAIRED, Optional.of(home), space));
        return space;
    }

    /**
     * The homes that are dropped with a promotion: those that have failed, are drained or are moved, as far as enough
     * others are left. Failed ones go first: a home that is alive keeps its copy until as many others are.
     */
    private List<ExtentHome> replaced(Draft draft, Space space, Extent extent) {
        int spare = extent.homes().size() + 1 - space.copies();
        List<ExtentHome> staying = staying(draft, space, extent);
        return extent.homes().stream()
                .filter(home -> !staying.contains(home))
                .sorted(Comparator.comparing(home -> !Fences.isFailed(draft, home.node())))
                .limit(Math.max(0, spare))
                .toList();
    }
}
