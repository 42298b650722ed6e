package io.farpage.coordinator.extent;

import io.farpage.coordinator.model.DroppedHome;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.PullState;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What commands make of an extent. A pure function: the same extent and command give the same extent. These rules hold
 * of every extent that commands have made of one of a new space:
 *
 * <ul>
 *   <li>it has a home at all times between its allocation and its deallocation, or until its homes become those of a
 *       snapshot, and is lost only when the memory of its last home is gone;
 *   <li>its homes are only pools that were allocated with zeros, or that have pulled all pages, of the homes before or
 *       of a snapshot;
 *   <li>it keeps the frames of a pool that is a home no longer, until no WRITE to them can be under way;
 *   <li>it is in another epoch after each change of its homes and of what joins.
 * </ul>
 */
public final class ExtentLife {

    private ExtentLife() {}

    /**
     * The extent after a command.
     *
     * @throws IllegalStateException if the command is none for an extent in this state: a policy is wrong
     */
    public static Extent apply(Extent extent, ExtentCommand command) {
        Extent next = carryOut(extent, command);
        assert follows(extent, command, next) : command + " makes " + next + " of " + extent;
        return next;
    }

    /** Whether the rules of this class that compare an extent with the one before hold. */
    private static boolean follows(Extent before, ExtentCommand command, Extent after) {
        boolean isSameLayout = after.homes().equals(before.homes())
                && after.filled().equals(before.filled())
                && after.joining().equals(before.joining());
        return after.firstPage() == before.firstPage()
                && after.count() == before.count()
                && after.epochNumber() == before.epochNumber() + (isSameLayout ? 0 : 1)
                && (before.state() == ExtentState.OK || after.state() == ExtentState.LOST)
                && before.isAllocated() == (after.isAllocated() != isAllocation(before, command))
                && (command instanceof ExtentCommand.Allocate
                        || before.targets().collect(Collectors.toSet()).containsAll(after.homes()));
    }

    private static boolean isAllocation(Extent before, ExtentCommand command) {
        return switch (command) {
            case ExtentCommand.Allocate _,
                    ExtentCommand.Complete _,
                    ExtentCommand.Deallocate _,
                    ExtentCommand.HandOver _ -> true;
            case ExtentCommand.Promote _ -> !before.isAllocated();
            default -> false;
        };
    }

    private static Extent carryOut(Extent extent, ExtentCommand command) {
        return switch (command) {
            case ExtentCommand.Allocate allocate -> allocate(extent, allocate);
            case ExtentCommand.Deallocate _ -> {
                require(extent.isAllocated() && extent.state() == ExtentState.OK, extent, command);
                yield next(
                        extent,
                        List.of(),
                        dropped(extent, extent.targets().toList()),
                        Optional.empty(),
                        Optional.empty());
            }
            case ExtentCommand.Join join -> join(extent, join);
            case ExtentCommand.Fill fill -> fill(extent, fill);
            case ExtentCommand.Keep _ -> {
                require(isPull(extent, PullState.DONE) && !extent.isAllocated(), extent, command);
                yield next(
                        extent,
                        List.of(),
                        Stream.concat(extent.filledPools().stream(), extent.joining().stream())
                                .toList(),
                        extent.droppedHomes(),
                        Optional.empty(),
                        Optional.empty());
            }
            case ExtentCommand.Complete _ -> {
                require(extent.filled().isPresent() && extent.joining().isEmpty(), extent, command);
                yield next(
                        extent,
                        extent.filledPools(),
                        List.of(),
                        extent.droppedHomes(),
                        Optional.empty(),
                        Optional.empty());
            }
            case ExtentCommand.AllowPull _ -> {
                require(isPull(extent, PullState.AWAITED), extent, command);
                yield pulling(extent, PullState.RUNNING);
            }
            case ExtentCommand.FinishPull _ -> {
                require(isPull(extent, PullState.RUNNING), extent, command);
                yield pulling(extent, PullState.DONE);
            }
            case ExtentCommand.Promote promote -> {
                require(
                        isPull(extent, PullState.DONE) && extent.homes().containsAll(promote.replaced()),
                        extent,
                        command);
                yield promote(extent, promote.replaced());
            }
            case ExtentCommand.Drop drop -> {
                require(
                        isJoining(extent, drop.home())
                                || isSpare(extent, drop.home())
                                || extent.filledPools().contains(drop.home()),
                        extent,
                        command);
                yield without(extent, drop.home(), dropped(extent, List.of(drop.home())));
            }
            case ExtentCommand.GiveBack back -> giveBack(extent, former -> former.epoch() <= back.epoch());
            case ExtentCommand.HandOver _ -> {
                require(
                        extent.isAllocated()
                                && extent.state() == ExtentState.OK
                                && extent.joining().isEmpty()
                                && extent.droppedHomes().isEmpty(),
                        extent,
                        command);
                yield next(extent, List.of(), List.of(), Optional.empty(), Optional.empty());
            }
            case ExtentCommand.Lose lose -> lose(extent, lose);
        };
    }

    private static void require(boolean condition, Extent extent, ExtentCommand command) {
        if (!condition) {
            throw new IllegalStateException("command %s is not allowed for %s".formatted(command, extent));
        }
    }

    private static Extent allocate(Extent extent, ExtentCommand.Allocate allocate) {
        require(
                !extent.isAllocated()
                        && extent.joining().isEmpty()
                        && extent.filled().isEmpty()
                        && !allocate.homes().isEmpty()
                        && extent.places()
                                .noneMatch(place -> allocate.homes().stream()
                                        .anyMatch(home -> home.node().equals(place.node()))),
                extent,
                allocate);
        return next(extent, allocate.homes(), extent.droppedHomes(), Optional.empty(), Optional.empty());
    }

    private static Extent join(Extent extent, ExtentCommand.Join join) {
        require(
                extent.isAllocated()
                        && extent.state() == ExtentState.OK
                        && extent.joining().isEmpty()
                        && join.begins() != PullState.DONE
                        && extent.places()
                                .noneMatch(
                                        place -> place.node().equals(join.home().node())),
                extent,
                join);
        return next(
                extent, extent.homes(), extent.droppedHomes(), Optional.of(join.home()), Optional.of(join.begins()));
    }

    private static Extent fill(Extent extent, ExtentCommand.Fill fill) {
        require(
                !extent.isAllocated()
                        && extent.joining().isEmpty()
                        && extent.places()
                                .noneMatch(
                                        place -> place.node().equals(fill.home().node())),
                extent,
                fill);
        return next(extent, List.of(), extent.droppedHomes(), Optional.of(fill.home()), Optional.of(PullState.RUNNING));
    }

    private static boolean isPull(Extent extent, PullState state) {
        return extent.pull().filter(state::equals).isPresent();
    }

    private static boolean isJoining(Extent extent, ExtentHome place) {
        return extent.joining().filter(place::equals).isPresent();
    }

    /** Whether a pool is a home beside another one. */
    private static boolean isSpare(Extent extent, ExtentHome place) {
        return extent.state() == ExtentState.OK
                && extent.homes().size() > 1
                && extent.homes().contains(place);
    }

    private static Extent lose(Extent extent, ExtentCommand.Lose lose) {
        Extent now = giveBack(extent, former -> lose.isOf(former.home()));
        Optional<ExtentHome> unread = Stream.concat(extent.joining().stream(), extent.filledPools().stream())
                .filter(lose::isOf)
                .findFirst();
        if (unread.isPresent()) {
            return without(now, unread.get(), now.droppedHomes());
        }
        Optional<ExtentHome> gone = extent.homes().stream().filter(lose::isOf).findFirst();
        if (gone.isEmpty() || extent.state() == ExtentState.LOST) {
            return now;
        }
        return extent.homes().size() > 1
                ? without(now, gone.get(), now.droppedHomes())
                : same(now, ExtentState.LOST, now.droppedHomes(), now.pull());
    }

    /**
     * A lost extent that a pool in use no longer has, with a pool that never existed in place of that one: the room may
     * be another space's, whose pages would be zeroed when the lost space is deleted.
     *
     * @param inUse whether a pool is in use
     * @param none id of a pool that never existed
     */
    public static Extent withoutRoom(Extent extent, Predicate<ExtentHome> inUse, Incarnation none) {
        if (extent.state() == ExtentState.OK || extent.homes().stream().noneMatch(inUse)) {
            return extent;
        }
        List<ExtentHome> homes = extent.homes().stream()
                .map(home -> inUse.test(home) ? new ExtentHome(home.node(), none, home.offset()) : home)
                .toList();
        return next(extent, homes, extent.droppedHomes(), extent.joining(), extent.pull());
    }

    private static Extent promote(Extent extent, List<ExtentHome> replaced) {
        List<ExtentHome> homes = new ArrayList<>(extent.homes());
        homes.removeAll(replaced);
        homes.addAll(extent.filledPools());
        homes.add(extent.joining().orElseThrow());
        return next(extent, homes, List.of(), dropped(extent, replaced), Optional.empty(), Optional.empty());
    }

    /** The dropped homes of the next epoch, in which more homes are dropped. */
    private static List<DroppedHome> dropped(Extent extent, List<ExtentHome> more) {
        return Stream.concat(
                        extent.droppedHomes().stream(),
                        more.stream().map(home -> DroppedHome.of(home, extent.epochNumber() + 1)))
                .toList();
    }

    private static Extent without(Extent extent, ExtentHome gone, List<DroppedHome> dropped) {
        List<ExtentHome> homes =
                extent.homes().stream().filter(home -> !home.equals(gone)).toList();
        List<ExtentHome> filled =
                extent.filledPools().stream().filter(home -> !home.equals(gone)).toList();
        Optional<ExtentHome> joining = extent.joining().filter(home -> !home.equals(gone));
        return next(extent, homes, filled, dropped, joining, extent.pull().filter(_ -> joining.isPresent()));
    }

    private static Extent giveBack(Extent extent, Predicate<DroppedHome> which) {
        List<DroppedHome> rest =
                extent.droppedHomes().stream().filter(which.negate()).toList();
        return same(extent, extent.state(), rest, extent.pull());
    }

    private static Extent pulling(Extent extent, PullState pull) {
        return same(extent, extent.state(), extent.droppedHomes(), Optional.of(pull));
    }

    private static Extent same(Extent extent, ExtentState state, List<DroppedHome> dropped, Optional<PullState> pull) {
        return new Extent(
                extent.firstPage(),
                extent.count(),
                extent.homes(),
                state,
                extent.epoch(),
                Optional.of(dropped),
                extent.joining(),
                pull,
                extent.filled());
    }

    /** With the same filled pools. */
    private static Extent next(
            Extent extent,
            List<ExtentHome> homes,
            List<DroppedHome> dropped,
            Optional<ExtentHome> joining,
            Optional<PullState> pull) {
        return next(extent, homes, extent.filledPools(), dropped, joining, pull);
    }

    private static Extent next(
            Extent extent,
            List<ExtentHome> homes,
            List<ExtentHome> filled,
            List<DroppedHome> dropped,
            Optional<ExtentHome> joining,
            Optional<PullState> pull) {
        return new Extent(
                extent.firstPage(),
                extent.count(),
                homes,
                extent.state(),
                OptionalLong.of(extent.epochNumber() + 1),
                Optional.of(dropped),
                joining,
                pull,
                Optional.of(filled));
    }

    /** The nodes whose part in an extent is another one than before. */
    public static Set<String> concerned(Extent before, Extent after) {
        return Stream.concat(before.places(), after.places())
                .map(ExtentHome::node)
                .filter(node -> !parts(before, node).equals(parts(after, node)))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static List<Object> parts(Extent extent, String node) {
        List<ExtentHome> homes =
                extent.homes().stream().filter(home -> home.node().equals(node)).toList();
        Optional<ExtentHome> joining =
                extent.joining().filter(home -> home.node().equals(node));
        List<DroppedHome> dropped = extent.droppedHomes().stream()
                .filter(former -> former.node().equals(node))
                .toList();
        List<ExtentHome> filled = extent.filledPools().stream()
                .filter(home -> home.node().equals(node))
                .toList();
        boolean isLost = !homes.isEmpty() && extent.state() == ExtentState.LOST;
        return List.of(homes, isLost, filled, joining, joining.flatMap(_ -> extent.pull()), dropped);
    }
}
