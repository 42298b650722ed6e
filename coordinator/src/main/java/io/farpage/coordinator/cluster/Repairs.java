package io.farpage.coordinator.cluster;

import io.farpage.coordinator.cluster.RepairPolicy.SpacePlan;
import io.farpage.coordinator.extent.ExtentCommand;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.PullReport;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.WriterRequest;
import io.farpage.rest.ProblemException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Brings extents back to as many homes as their space was made with, and moves them away from nodes that are drained or
 * have failed. {@link RepairPolicy} chooses a home that joins, which pulls the pages ({@link Pulls}). The attached
 * node, the only writer, then copies what it has written meanwhile and asks for the promotion, a compare-and-swap on
 * the extent's epoch; where no node writes, the end of the pull is the promotion. If a home joins in place of one
 * that is drained, the promotion drops that one in the same epoch, so an extent never has more homes than its space
 * asks for. {@link Moves} are the same for single extents. A pass is planned on a state that does not change, while
 * other changes are made, and only what still fits is changed. Thread-safe.
 */
public final class Repairs {

    /**
     * Homes that begin to join in one pass, in the whole cluster. Each is a row, and etcd takes about 100 of them in a
     * transaction, so the commit of a pass stays short.
     */
    static final int JOINING_IN_A_PASS = 96;

    /** Spaces that one pass changes. */
    private static final int SPACES_IN_A_PASS = 128;

    /** Extents that one pass looks at, as far as whole spaces allow. */
    private static final int LOOKED_AT_IN_A_PASS = 1_024;

    /** A home that was dropped while it joined is not chosen for the same space before so long has passed. */
    static final Duration PAUSE = Duration.ofSeconds(5);

    /** A pass over a state that has not changed since: room may be free, or a pause over. */
    private static final Duration REPEAT = Duration.ofSeconds(1);

    private final Ledger ledger;
    private final Time time;
    private final Moves moves;
    private final Absences absences;
    private final FailedJoins failed;
    private final RepairPolicy policy;
    private final Outstanding outstanding = new Outstanding();

    /** Revision of the last pass. */
    private long seen = -1;

    private long seenAt;

    /** Whether the last pass looked at all spaces that it had to look at. */
    private boolean isRoundDone;

    /**
     * Spaces whose homes have not recorded a promotion yet, so that a rebuild might still take a replaced home for a
     * source of pages.
     */
    private final Map<Long, Integer> settling = new ConcurrentHashMap<>();

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
        this.failed = new FailedJoins(time);
        this.policy = new RepairPolicy(moves, absences);
    }

    /**
     * Makes homes join extents that need one, and reports drained nodes. To be called often; one thread, which may take
     * long if there are many extents. Returns how many joined.
     */
    public int step() {
        long revision = ledger.revision();
        if (seen == revision && isRoundDone && time.nanos() - seenAt < REPEAT.toNanos() && !moves.hasFresh()) {
            return 0;
        }
        seen = revision;
        seenAt = time.nanos();
        State now = ledger.state();
        failed.observe(now, outstanding.observe(now));
        absences.observe(now);
        moves.follow(now);
        moves.all().forEach(move -> outstanding.add(Keys.id(move.space())));
        return plan(now).map(plan -> ledger.change(draft -> apply(draft, plan))).orElse(0);
    }

    /** What a pass changes, worked out while other changes are made; empty if nothing. */
    private Optional<List<SpacePlan>> plan(State now) {
        Draft view = new Draft(now);
        Rooms rooms = new Rooms(view);
        List<SpacePlan> plans = new ArrayList<>();
        int joining = 0;
        int lookedAt = 0;
        isRoundDone = true;
        for (String key : outstanding.inTurn()) {
            if (joining >= JOINING_IN_A_PASS || plans.size() >= SPACES_IN_A_PASS || lookedAt >= LOOKED_AT_IN_A_PASS) {
                isRoundDone = false;
                break;
            }
            Optional<Space> unsettled = view.spaces.find(key).filter(space -> !policy.isSettled(view, space));
            outstanding.onLooked(key, unsettled.isEmpty());
            if (unsettled.isEmpty()) {
                continue;
            }
            Space space = unsettled.get();
            lookedAt += view.extents.of(space).size();
            RepairPolicy.Limits limits =
                    new RepairPolicy.Limits(JOINING_IN_A_PASS - joining, failed::of, one -> mayGiveBack(view, one));
            Optional<SpacePlan> plan = policy.propose(view, space, rooms, limits);
            plan.ifPresent(plans::add);
            joining += plan.map(each -> each.places().size()).orElse(0);
        }
        Draft drained = new Draft(now);
        Drains.tell(drained);
        return plans.isEmpty() && !drained.isChanged() ? Optional.empty() : Optional.of(plans);
    }

    /**
     * Makes the part of a plan that still fits: what other changes have touched since is planned again. Returns how
     * many homes join.
     */
    private int apply(Draft draft, List<SpacePlan> plans) {
        int joined = 0;
        for (SpacePlan each : plans) {
            if (!isCurrent(draft, each)) {
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
        return draft.spaces.find(Keys.id(space.id())).filter(space::equals).isPresent()
                && draft.extents.of(space).equals(plan.before())
                && (plan.hasMembers() ? isStillFailed(draft, plan) : isStillWritten(draft, plan))
                && plan.places().entrySet().stream()
                        .allMatch(place -> FreeSpace.isFree(draft, place.getKey(), place.getValue()));
    }

    private static boolean isStillWritten(Draft draft, SpacePlan plan) {
        return plan.writer().isEmpty()
                ? Pulls.isUnwritten(draft, plan.space())
                : RepairPolicy.writer(draft, plan.space()).equals(plan.writer());
    }

    private static boolean isStillFailed(Draft draft, SpacePlan plan) {
        return plan.before().stream()
                .allMatch(extent ->
                        Coherence.dropFailed(draft, extent).stream().toList().equals(plan.of(extent)));
    }

    private boolean mayGiveBack(Draft draft, Space space) {
        return Pulls.isUnattended(draft, space) && !settling.containsKey(space.id());
    }

    /** The writer now notes its writes, so pulls of these extents may start. Applies to all of them or fails. */
    public void allowPulls(String idOrName, String node, WriterRequest request) {
        ledger.change(draft -> {
            Space space = Drops.requireWriter(draft, idOrName, node, request.incarnation());
            return Pulls.allow(draft, space, request.extents());
        });
    }

    /**
     * The writer has copied all writes that it noted: the joining homes of these extents become homes. Applies to all
     * of them or fails.
     */
    public void promote(String idOrName, String node, WriterRequest request) {
        ledger.change(draft -> {
            Space space = Drops.requireWriter(draft, idOrName, node, request.incarnation());
            return promote(draft, space, request.extents());
        });
    }

    /**
     * A node that joins an extent has pulled all pages; or it gives up and is dropped. If no node writes, its pool
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
            // No node writes to an extent that is filled with the pages of a snapshot.
            boolean isFilled = !draft.extents.require(space, report.extent()).isAllocated();
            draft.extents.change(space, List.of(report.extent()), extent -> isPulled ? finish(extent) : drop(extent));
            if (isPulled && isFilled && !isLastFill(draft, space, report.extent())) {
                draft.extents.change(space, List.of(report.extent()), _ -> List.of(new ExtentCommand.Keep()));
                return false;
            }
            boolean isHome = isPulled && (isFilled || Pulls.isUnwritten(draft, space));
            if (isHome) {
                promote(draft, space, List.of(report.extent()));
            }
            return isHome;
        });
    }

    /** Whether an extent has as many homes as its space asks for when the one that joins is filled. */
    private static boolean isLastFill(Draft draft, Space space, ExtentEpoch filled) {
        return draft.extents.require(space, filled).filledPools().size() + 1 >= space.copies();
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
        return RepairPolicy.isPulling(extent) ? List.of(new ExtentCommand.FinishPull()) : List.of();
    }

    private static List<ExtentCommand> drop(Extent extent) {
        return List.of(new ExtentCommand.Drop(extent.joining().orElseThrow()));
    }

    private Space promote(Draft draft, Space space, List<ExtentEpoch> extents) {
        Set<String> fresh = new TreeSet<>();
        draft.extents.change(space, extents, extent -> {
            ExtentHome joining = extent.joining()
                    .filter(_ -> !RepairPolicy.isPulling(extent) && !policy.isJoiningInVain(draft, space, extent))
                    .orElseThrow(() -> ProblemException.conflict(
                            "no-such-home",
                            "no home joins the extent at page %d of space '%s'"
                                    .formatted(extent.firstPage(), space.name())));
            if (extent.isAllocated()) {
                fresh.add(joining.node());
            }
            return List.of(new ExtentCommand.Promote(policy.replaced(draft, space, extent)));
        });
        fresh.forEach(home -> draft.emit(EventKind.EXTENTS_REPAIRED, Optional.of(home), space));
        return space;
    }
}
