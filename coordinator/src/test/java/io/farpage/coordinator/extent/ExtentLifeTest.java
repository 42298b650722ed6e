package io.farpage.coordinator.extent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.PullState;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** All that may happen to an extent on three nodes, in every order: what holds whatever the policies propose. */
class ExtentLifeTest {
    private static final ExtentHome A = home("a");
    private static final ExtentHome B = home("b");
    private static final ExtentHome C = home("c");
    private static final List<ExtentHome> NODES = List.of(A, B, C);
    private static final Extent ONE_HOME = extent(A);
    private static final Extent TWO_HOMES = extent(A, B);
    /** A joins, pulls, is promoted, dropped, given back, lost and joins again within this. */
    private static final int DEPTH = 7;

    private static ExtentHome home(String node) {
        return new ExtentHome(node, new Incarnation(node.charAt(0)), 0);
    }

    private static Extent extent(ExtentHome... homes) {
        return new Extent(0, 8, List.of(homes), ExtentState.OK);
    }

    /** A pool is gone; the node comes back with another one at the same place. */
    private static ExtentCommand.Lose lose(ExtentHome home) {
        return new ExtentCommand.Lose(home.node(), home.incarnation());
    }

    private static List<ExtentCommand> commands(Extent extent) {
        List<ExtentCommand> all = new ArrayList<>();
        for (ExtentHome node : NODES) {
            all.add(new ExtentCommand.Join(node, PullState.RUNNING));
            all.add(new ExtentCommand.Join(node, PullState.AWAITED));
            all.add(new ExtentCommand.Join(node, PullState.DONE));
            all.add(new ExtentCommand.Drop(node));
            all.add(new ExtentCommand.Promote(List.of(node)));
            all.add(lose(node));
            all.add(new ExtentCommand.Allocate(List.of(node)));
            all.add(new ExtentCommand.Fill(node));
        }
        all.add(new ExtentCommand.Allocate(List.of()));
        all.add(new ExtentCommand.Allocate(NODES.subList(0, 2)));
        all.add(new ExtentCommand.Keep());
        all.add(new ExtentCommand.Complete());
        all.add(new ExtentCommand.Deallocate());
        all.add(new ExtentCommand.HandOver());
        all.add(new ExtentCommand.AllowPull());
        all.add(new ExtentCommand.FinishPull());
        all.add(new ExtentCommand.Promote(List.of()));
        all.add(new ExtentCommand.Promote(extent.homes()));
        all.add(new ExtentCommand.GiveBack(extent.epochNumber() - 1));
        all.add(ExtentCommand.GiveBack.ALL);
        return all;
    }

    /** What is said of each command, in other words than those of the program. */
    private static boolean isAllowed(Extent extent, ExtentCommand command) {
        Optional<PullState> pull = extent.pull();
        return switch (command) {
            case ExtentCommand.Join join ->
                pull.isEmpty()
                        && !extent.homes().isEmpty()
                        && extent.state() == ExtentState.OK
                        && join.begins() != PullState.DONE
                        && !nodes(extent.places()).contains(join.home().node());
            case ExtentCommand.AllowPull _ -> pull.equals(Optional.of(PullState.AWAITED));
            case ExtentCommand.FinishPull _ -> pull.equals(Optional.of(PullState.RUNNING));
            case ExtentCommand.Promote promote ->
                pull.equals(Optional.of(PullState.DONE))
                        && promote.replaced().stream().allMatch(extent.homes()::contains);
            case ExtentCommand.Drop drop ->
                extent.joining().equals(Optional.of(drop.home()))
                        || extent.filledPools().contains(drop.home())
                        || (extent.homes().contains(drop.home())
                                && extent.homes().size() >= 2
                                && extent.state() != ExtentState.LOST);
            case ExtentCommand.Allocate allocate ->
                extent.homes().isEmpty()
                        && pull.isEmpty()
                        && extent.filledPools().isEmpty()
                        && !allocate.homes().isEmpty()
                        && nodes(extent.places()).stream().noneMatch(nodes(allocate.homes().stream())::contains);
            case ExtentCommand.Fill fill ->
                extent.homes().isEmpty()
                        && pull.isEmpty()
                        && !nodes(extent.places()).contains(fill.home().node());
            case ExtentCommand.Keep _ -> extent.homes().isEmpty() && pull.equals(Optional.of(PullState.DONE));
            case ExtentCommand.Complete _ ->
                pull.isEmpty() && !extent.filledPools().isEmpty();
            case ExtentCommand.Deallocate _ -> !extent.homes().isEmpty() && extent.state() != ExtentState.LOST;
            case ExtentCommand.HandOver _ ->
                extent.places().toList().equals(extent.homes())
                        && !extent.homes().isEmpty()
                        && extent.state() != ExtentState.LOST;
            case ExtentCommand.GiveBack _, ExtentCommand.Lose _ -> true;
        };
    }

    private static Set<String> nodes(Stream<ExtentHome> places) {
        return places.map(ExtentHome::node).collect(Collectors.toSet());
    }

    @Test
    void shouldKeepWhatHoldsInEveryOrderOfCommands() {
        Set<Extent> seen = new HashSet<>();
        Set<Extent> now = Set.of(ONE_HOME, TWO_HOMES);
        int steps = 0;
        for (int depth = 0; depth < DEPTH; depth++) {
            Set<Extent> next = new HashSet<>();
            for (Extent before : now) {
                for (ExtentCommand command : commands(before)) {
                    if (isAllowed(before, command)) {
                        Extent after = ExtentLife.apply(before, command);
                        requireStep(before, command, after);
                        next.add(after);
                        steps++;
                    } else {
                        assertThrows(
                                IllegalStateException.class,
                                () -> ExtentLife.apply(before, command),
                                () -> command + " on " + before);
                    }
                }
            }
            next.removeAll(seen);
            seen.addAll(next);
            now = next;
        }
        assertTrue(seen.size() > 1_000 && steps > 5_000, seen.size() + " extents, " + steps + " steps");
    }

    private static void requireStep(Extent before, ExtentCommand command, Extent after) {
        String step = "%s, %s, %s".formatted(before, command, after);
        assertEquals(
                command instanceof ExtentCommand.Deallocate
                        || command instanceof ExtentCommand.HandOver
                        || (before.homes().isEmpty()
                                && !(command instanceof ExtentCommand.Allocate)
                                && !(command instanceof ExtentCommand.Complete)
                                && !(command instanceof ExtentCommand.Promote)),
                after.homes().isEmpty(),
                step);
        // Pages without homes are zeros or those of a snapshot, and cannot be lost.
        assertTrue(!after.homes().isEmpty() || after.state() == ExtentState.OK, step);
        assertEquals(after.homes().size(), nodes(after.homes().stream()).size(), step);
        assertTrue(after.homes().isEmpty() || after.filledPools().isEmpty(), step);
        // Nothing is read from a pool that has not pulled all pages.
        for (ExtentHome filled : after.filledPools()) {
            assertTrue(before.filledPools().contains(filled) || hasPulledAll(before, filled), step);
        }
        for (ExtentHome home : after.homes()) {
            assertTrue(
                    before.homes().contains(home)
                            || (command instanceof ExtentCommand.Allocate allocate
                                    && allocate.homes().contains(home))
                            || ((command instanceof ExtentCommand.Promote || command instanceof ExtentCommand.Complete)
                                    && before.filledPools().contains(home))
                            || (command instanceof ExtentCommand.Promote && hasPulledAll(before, home)),
                    step);
        }
        // Frames that a WRITE may be under way to stay reserved. Those that are handed over are a snapshot's.
        before.places()
                .filter(_ -> !(command instanceof ExtentCommand.HandOver))
                .filter(place -> after.places().noneMatch(place::equals))
                .forEach(gone -> assertTrue(
                        command instanceof ExtentCommand.Lose lose
                                ? lose.isOf(gone)
                                : command instanceof ExtentCommand.GiveBack back
                                        && before.droppedHomes().stream()
                                                .anyMatch(former ->
                                                        former.home().equals(gone) && former.epoch() <= back.epoch()),
                        step));
        if (command instanceof ExtentCommand.Lose lose) {
            // Nothing is waited for that is gone; the last home of lost pages is named for people.
            assertTrue(after.droppedHomes().stream().noneMatch(former -> lose.isOf(former.home())), step);
            assertTrue(after.joining().filter(lose::isOf).isEmpty(), step);
            assertTrue(after.filledPools().stream().noneMatch(lose::isOf), step);
        }
        // Pages are lost with the memory of the last home, and with nothing else.
        boolean isLost = after.state() != before.state();
        assertEquals(
                isLost,
                before.state() == ExtentState.OK
                        && command instanceof ExtentCommand.Lose lose
                        && before.homes().size() == 1
                        && lose.isOf(before.primary()),
                step);
        boolean isMoved = !before.homes().equals(after.homes())
                || !before.joining().equals(after.joining())
                || !before.filled().equals(after.filled());
        assertEquals(before.epochNumber() + (isMoved ? 1 : 0), after.epochNumber(), step);
        after.droppedHomes().stream()
                .filter(former -> !before.droppedHomes().contains(former))
                .forEach(former -> assertEquals(after.epochNumber(), former.epoch(), step));
        requireConcerned(before, after, step);
    }

    private static boolean hasPulledAll(Extent extent, ExtentHome pool) {
        return extent.joining().equals(Optional.of(pool)) && extent.pull().equals(Optional.of(PullState.DONE));
    }

    /** A node reads its document again only when an event names it, so an event must name each node concerned. */
    private static void requireConcerned(Extent before, Extent after, String step) {
        Set<String> concerned = ExtentLife.concerned(before, after);
        assertEquals(before.equals(after), concerned.isEmpty(), step);
        Set<String> moved = new HashSet<>(nodes(before.homes().stream()));
        nodes(after.homes().stream()).forEach(node -> {
            if (!moved.remove(node)) {
                moved.add(node);
            }
        });
        assertTrue(concerned.containsAll(moved), step);
        boolean isPullOther =
                !before.joining().equals(after.joining()) || !before.pull().equals(after.pull());
        if (isPullOther) {
            assertTrue(concerned.containsAll(nodes(before.joining().stream())), step);
            assertTrue(concerned.containsAll(nodes(after.joining().stream())), step);
        }
    }

    @Test
    void shouldPutTheHomeThatJoinsInThePlaceOfOneThatIsDropped() {
        Extent pulling = ExtentLife.apply(TWO_HOMES, new ExtentCommand.Join(C, PullState.AWAITED));
        assertEquals(Optional.of(C), pulling.joining());
        Extent pulled = ExtentLife.apply(
                ExtentLife.apply(pulling, new ExtentCommand.AllowPull()), new ExtentCommand.FinishPull());
        Extent promoted = ExtentLife.apply(pulled, new ExtentCommand.Promote(List.of(A)));
        assertEquals(List.of(B, C), promoted.homes());
        assertEquals(
                List.of(A),
                promoted.droppedHomes().stream().map(former -> former.home()).toList());
        assertEquals(Set.of("a", "c"), ExtentLife.concerned(pulled, promoted));
        Extent free = ExtentLife.apply(promoted, new ExtentCommand.GiveBack(promoted.epochNumber()));
        assertEquals(List.of(), free.droppedHomes());
        assertEquals(Set.of("a"), ExtentLife.concerned(promoted, free));
    }

    @Test
    void shouldTellOnlyTheLastHomeThatPagesAreLost() {
        Extent dropped = ExtentLife.apply(TWO_HOMES, new ExtentCommand.Drop(B));
        Extent lost = ExtentLife.apply(dropped, lose(A));
        assertEquals(ExtentState.LOST, lost.state());
        assertEquals(Set.of("a"), ExtentLife.concerned(dropped, lost));
    }
}
