package io.farpage.coordinator.extent;

import io.farpage.coordinator.model.DroppedHome;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.PullState;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What commands make of an extent. A pure function: the same extent and command give the same extent. These rules hold
 * of every extent that commands have made of one with a home:
 *
 * <ul>
 *   <li>it has a home at all times, and is lost only when the memory of its last home is gone;
 *   <li>its homes are only pools that the space was made on, or that have pulled all pages;
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
        return switch (command) {
            case ExtentCommand.Join join -> join(extent, join);
            case ExtentCommand.AllowPull _ -> {
                require(isPull(extent, PullState.AWAITED), extent, command);
                yield extent.withPull(PullState.RUNNING);
            }
            case ExtentCommand.FinishPull _ -> {
                require(isPull(extent, PullState.RUNNING), extent, command);
                yield extent.withPull(PullState.DONE);
            }
            case ExtentCommand.Promote promote -> {
                require(
                        isPull(extent, PullState.DONE) && extent.homes().containsAll(promote.replaced()),
                        extent,
                        command);
                yield extent.promote(promote.replaced());
            }
            case ExtentCommand.Drop drop -> {
                require(isJoining(extent, drop.home()) || isSpare(extent, drop.home()), extent, command);
                yield extent.drop(drop.home());
            }
            case ExtentCommand.GiveBack back -> extent.acknowledged(former -> former.epoch() <= back.epoch());
            case ExtentCommand.Lose lose -> lose(extent, lose);
        };
    }

    private static void require(boolean condition, Extent extent, ExtentCommand command) {
        if (!condition) {
            throw new IllegalStateException("%s is no command for %s".formatted(command, extent));
        }
    }

    private static Extent join(Extent extent, ExtentCommand.Join join) {
        require(
                extent.state() == ExtentState.OK
                        && extent.joining().isEmpty()
                        && join.begins() != PullState.DONE
                        && extent.places()
                                .noneMatch(
                                        place -> place.node().equals(join.home().node())),
                extent,
                join);
        return extent.join(join.home(), join.begins());
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
        Extent now = extent.acknowledged(former -> lose.isOf(former.home()));
        Optional<ExtentHome> joining = extent.joining().filter(lose::isOf);
        if (joining.isPresent()) {
            return now.forget(joining.get());
        }
        Optional<ExtentHome> gone = extent.homes().stream().filter(lose::isOf).findFirst();
        if (gone.isEmpty() || extent.state() == ExtentState.LOST) {
            return now;
        }
        return extent.homes().size() > 1 ? now.forget(gone.get()) : now.withState(ExtentState.LOST);
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
        boolean isLost = !homes.isEmpty() && extent.state() == ExtentState.LOST;
        return List.of(homes, isLost, joining, joining.flatMap(_ -> extent.pull()), dropped);
    }
}
