package io.farpage.coordinator.cluster;

import io.farpage.coordinator.extent.ExtentCommand;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.PullState;
import io.farpage.coordinator.model.Space;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * Which homes join, and which are dropped: what is proposed for an extent, by the homes that its space asks for, the
 * nodes that have failed or are drained, and the {@link Moves}. Changes nothing. {@link #propose} is for one thread;
 * the others are for any.
 */
final class RepairPolicy {

    /**
     * Extents of one space that have a joining home at a time: each costs another WRITE for every page that is evicted.
     */
    private static final int JOINING_AT_ONCE = 16;

    private final Moves moves;
    private final Absences absences;

    RepairPolicy(Moves moves, Absences absences) {
        this.moves = moves;
        this.absences = absences;
    }

    /**
     * What happens to the extents of a space, if it is as it was.
     *
     * @param hasMembers whether nodes use it as a coherent space, so that failed homes are dropped alone
     * @param commands by the first page of an extent
     * @param places where homes join, each with its bytes
     */
    record SpacePlan(
            Space space,
            boolean hasMembers,
            Optional<Attachment> writer,
            List<Extent> before,
            Map<Long, ExtentCommand> commands,
            Map<ExtentHome, Long> places) {
        List<ExtentCommand> of(Extent extent) {
            return Optional.ofNullable(commands.get(extent.firstPage())).stream()
                    .toList();
        }
    }

    /**
     * What a proposal for a space keeps to.
     *
     * @param most homes that may join
     * @param avoided nodes that a home of a space must not join on
     * @param givesBack whether frames of a space's dropped homes may be given back
     */
    record Limits(int most, Function<Space, Set<String>> avoided, Predicate<Space> givesBack) {}

    /**
     * What is to happen to a space; empty if nothing is. Takes the places of the homes that join from the rooms.
     *
     * @param rooms as of the view
     */
    Optional<SpacePlan> propose(Draft view, Space space, Rooms rooms, Limits limits) {
        if (Coherence.isUsed(view, space)) {
            return drops(view, space);
        }
        Optional<Attachment> writer = writer(view, space);
        boolean isUnwritten = Pulls.isUnwritten(view, space);
        if (!isUnwritten && writer.isEmpty()) {
            return Optional.empty();
        }
        // A pull under a guest begins when the guest's agent notes what it writes.
        PullState begins = isUnwritten ? PullState.RUNNING : PullState.AWAITED;
        List<Extent> before = view.extents.of(space);
        int left = JOINING_AT_ONCE
                - (int) before.stream()
                        .filter(extent -> extent.joining().isPresent())
                        .count();
        left = Math.min(left, limits.most());
        Map<ExtentHome, Long> places = new HashMap<>();
        Map<Long, ExtentCommand> commands = new HashMap<>();
        for (Extent extent : before) {
            if (isJoiningInVain(view, space, extent)) {
                commands.put(
                        extent.firstPage(),
                        new ExtentCommand.Drop(extent.joining().orElseThrow()));
                continue;
            }
            Optional<ExtentHome> gone = deadFill(view, extent);
            if (gone.isPresent()) {
                commands.put(extent.firstPage(), new ExtentCommand.Drop(gone.get()));
                continue;
            }
            if (left <= 0 || isSettled(view, space, extent)) {
                continue;
            }
            List<ExtentHome> beside = beside(view, space, extent);
            if (!needsHome(space, extent, beside) || !Pulls.hasSource(view, extent)) {
                continue;
            }
            Optional<String> target = move(view, space, extent).map(Move::to);
            Optional<ExtentHome> home = new NewHome(view, rooms, extent, beside, space.pageSize())
                    .choose(new Avoided(limits.avoided().apply(space), target));
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
        return commands.isEmpty() && !(isDropped && limits.givesBack().test(space))
                ? Optional.empty()
                : Optional.of(new SpacePlan(space, false, writer, before, commands, places));
    }

    /** The failed homes of a space with members. */
    private static Optional<SpacePlan> drops(Draft view, Space space) {
        List<Extent> before = view.extents.of(space);
        Map<Long, ExtentCommand> commands = new HashMap<>();
        before.forEach(extent ->
                Coherence.dropFailed(view, extent).ifPresent(command -> commands.put(extent.firstPage(), command)));
        return commands.isEmpty()
                ? Optional.empty()
                : Optional.of(new SpacePlan(space, true, Optional.empty(), before, commands, Map.of()));
    }

    /** The nodes that a home must not join on. */
    private record Avoided(Set<String> failed, Optional<String> target) implements Predicate<String> {
        @Override
        public boolean test(String node) {
            return failed.contains(node)
                    || target.filter(only -> !only.equals(node)).isPresent();
        }
    }

    /** Whether nothing will happen to a space unless it or a node changes. */
    boolean isSettled(Draft draft, Space space) {
        if (Coherence.isUsed(draft, space)) {
            return draft.extents.of(space).stream()
                    .allMatch(extent -> Coherence.dropFailed(draft, extent).isEmpty());
        }
        return space.deleting() || draft.extents.of(space).stream().allMatch(extent -> isSettled(draft, space, extent));
    }

    /** Whether an extent has all its homes, and none joins, moves or was dropped: so are nearly all at most times. */
    private boolean isSettled(Draft draft, Space space, Extent extent) {
        if (extent.joining().isPresent() || !extent.droppedHomes().isEmpty() || extent.isShortOf(space.copies())) {
            return false;
        }
        for (ExtentHome home : extent.homes()) {
            if (!stays(draft, home)) {
                return false;
            }
        }
        if (deadFill(draft, extent).isPresent()) {
            return false;
        }
        return moves.of(space.id(), extent).isEmpty();
    }

    /** A pool that was filled and is not a home yet, on a node that has failed or is drained: another one is filled. */
    private static Optional<ExtentHome> deadFill(Draft draft, Extent extent) {
        return extent.filledPools().stream()
                .filter(pool -> Pulls.isDead(draft, pool))
                .findFirst();
    }

    /**
     * Whether the home that joins must be dropped, for one of these reasons:
     *
     * <ul>
     *   <li>enough homes stay, since a drain or a move was cancelled;
     *   <li>the pages are lost;
     *   <li>a home that stays is in the same failure domain: the joining home was chosen to replace that one, and
     *       another home has failed since;
     *   <li>the node of the joining home cannot pull the pages;
     *   <li>that node has failed, and a promotion would replace a home that is alive;
     *   <li>the pull is not allowed yet, and no writer is attached to allow it.
     * </ul>
     */
    boolean isJoiningInVain(Draft draft, Space space, Extent extent) {
        if (extent.joining().isEmpty()) {
            return false;
        }
        List<ExtentHome> staying = staying(draft, space, extent);
        Optional<String> domain = domain(draft, extent.joining().get());
        return extent.state() == ExtentState.LOST
                || (isPulling(extent) && Pulls.isDead(draft, extent.joining().get()))
                || (draft.isFailed(extent.joining().get().node()) && replacesOneAlive(draft, space, extent))
                || (Pulls.isUnattended(draft, space) && Pulls.isAwaited(extent))
                || staying.size() >= space.copies()
                || staying.stream().anyMatch(home -> domain(draft, home).equals(domain));
    }

    private boolean replacesOneAlive(Draft draft, Space space, Extent extent) {
        return replaced(draft, space, extent).stream().anyMatch(home -> !draft.isFailed(home.node()));
    }

    /** Whether a home joins that lacks pages. */
    static boolean isPulling(Extent extent) {
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
        return extent.isAllocated()
                && extent.state() == ExtentState.OK
                && extent.joining().isEmpty()
                && beside.size() < space.copies();
    }

    /**
     * The homes that stay, and those on nodes that have failed and may be back soon: the homes that an extent has
     * beside one that joins. While a snapshot is read, nodes that are drained and moves wait: what the readers know of
     * is not given back.
     */
    private List<ExtentHome> beside(Draft draft, Space space, Extent extent) {
        boolean isRead = Pulls.isUnwritten(draft, space) && !Pulls.isUnattended(draft, space);
        List<ExtentHome> staying = isRead
                ? extent.homes().stream()
                        .filter(home -> !draft.isFailed(home.node()))
                        .toList()
                : staying(draft, space, extent);
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
        return !draft.isDraining(home.node())
                && draft.nodes
                        .find(home.node())
                        .filter(node -> node.status() != NodeStatus.FAILED)
                        .isPresent();
    }

    /** The only node that writes to a space, if one is attached so and its lease runs. */
    static Optional<Attachment> writer(Draft draft, Space space) {
        return draft.attachedTo(space).stream()
                .filter(Attachment::mayRepair)
                .filter(attachment -> !draft.isFailed(attachment.node()))
                .filter(attachment -> Fences.awaited(draft, space, attachment).isEmpty())
                .findFirst();
    }

    /**
     * The homes that are dropped with a promotion: those that have failed, are drained or are moved, as far as enough
     * others are left. Failed ones go first: a home that is alive keeps its copy until as many others are.
     */
    List<ExtentHome> replaced(Draft draft, Space space, Extent extent) {
        int spare = extent.homes().size() + 1 - space.copies();
        List<ExtentHome> staying = staying(draft, space, extent);
        return extent.homes().stream()
                .filter(home -> !staying.contains(home))
                .sorted(Comparator.comparing(home -> !draft.isFailed(home.node())))
                .limit(Math.max(0, spare))
                .toList();
    }
}
