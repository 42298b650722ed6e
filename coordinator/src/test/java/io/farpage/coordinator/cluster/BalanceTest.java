package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.Incarnation;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class BalanceTest {
    private static final long PAGES = 1024;
    private static final long BYTES = PAGES * 4096;
    private static final int ALL = 1_000;

    private final List<Balance.Host> hosts = new ArrayList<>();
    private final List<Balance.Piece> pieces = new ArrayList<>();
    private long idle;

    private void host(String id, String domain, int room, int used) {
        hosts.add(new Balance.Host(id, domain, room * BYTES, (room - used) * BYTES, used * BYTES, true));
    }

    private void host(String id, int room, int used) {
        host(id, id, room, used);
    }

    private void piece(long heat, String... homes) {
        piece(heat, true, homes);
    }

    private void piece(long heat, boolean mayMove, String... homes) {
        pieces.add(new Balance.Piece(
                1,
                pieces.size() * PAGES,
                PAGES,
                BYTES,
                List.of(homes).stream()
                        .map(node -> new ExtentHome(node, new Incarnation(1), 0))
                        .toList(),
                Set.of(),
                Optional.of("g"),
                heat,
                mayMove));
    }

    private List<Balance.Decision> decide() {
        Balance balance = new Balance(hosts, pieces, idle);
        return balance.decide(ALL, balance.pressed());
    }

    private static String told(Balance.Decision decision) {
        Move move = decision.move();
        return decision.piece().heat() + ": " + move.from().node() + " to " + move.to() + ", " + move.reason();
    }

    private List<String> told() {
        return decide().stream().map(BalanceTest::told).toList();
    }

    /** The load of each home after the decisions, for extents with one home. */
    private Map<String, Long> loads() {
        Map<Balance.Piece, String> moved = decide().stream()
                .collect(Collectors.toMap(
                        Balance.Decision::piece, decision -> decision.move().to()));
        Function<Balance.Piece, String> home =
                piece -> moved.getOrDefault(piece, piece.homes().getFirst().node());
        return pieces.stream().collect(Collectors.groupingBy(home, Collectors.summingLong(Balance.Piece::heat)));
    }

    @Test
    void shouldSpreadTheHottestExtentsOfAHomeUnderPressure() {
        host("b", 100, 30);
        host("c", 100, 30);
        host("d", 100, 30);
        for (int i = 0; i < 10; i++) {
            piece(20_000, "b");
            piece(100, "b");
        }
        piece(2_000, "c");
        piece(2_000, "d");
        Map<String, Long> loads = loads();
        double mean = loads.values().stream().mapToLong(load -> load).average().orElseThrow();
        assertTrue(loads.values().stream().allMatch(load -> load <= mean * (1 + Balance.HYSTERESIS)), loads::toString);
        assertTrue(decide().stream().allMatch(decision -> decision.piece().heat() == 20_000), "the cold ones stay");
    }

    @Test
    void shouldMoveNothingIfTheLoadIsUniform() {
        host("g", 0, 0);
        host("b", 100, 50);
        host("c", 100, 50);
        host("d", 100, 50);
        hosts.set(0, new Balance.Host("g", "g", 0, 0, 0, false));
        SplittableRandom random = new SplittableRandom(7);
        for (int pass = 0; pass < 1_000; pass++) {
            pieces.clear();
            for (String home : List.of("b", "c", "d")) {
                double noise = random.nextDouble(0.9, 1.1);
                for (int i = 0; i < 20; i++) {
                    piece(Math.round(50_000 * noise * random.nextDouble(0.9, 1.1)), home);
                }
            }
            assertEquals(List.of(), told(), "pass " + pass);
        }
    }

    @Test
    void shouldMoveNothingIfTheLoadOfTheNodesWithRoomIsUniform() {
        host("b", 100, 50);
        host("c", 100, 50);
        host("d", 100, 50);
        hosts.add(new Balance.Host("small", "small", BYTES / 2, BYTES / 2, 0, true));
        hosts.add(new Balance.Host("full", "full", 50 * BYTES, 0, 25 * BYTES, true));
        for (String home : List.of("b", "c", "d")) {
            for (int i = 0; i < 20; i++) {
                piece(50_000, home);
            }
        }
        // A tenth more than the mean of those that can take an extent, and well above that of all five.
        piece(50_000, "b");
        piece(50_000, "b");
        piece(100, "full");
        assertEquals(List.of(), told());
        assertEquals(Set.of(), new Balance(hosts, pieces, idle).pressed());
    }

    @Test
    void shouldCountAFullNodeThatHasMoreThanTheMean() {
        host("b", 100, 50);
        host("c", 100, 50);
        hosts.add(new Balance.Host("full", "full", 50 * BYTES, 0, 25 * BYTES, true));
        for (int i = 0; i < 10; i++) {
            piece(10_000, "b");
            piece(10_000, "c");
            piece(13_000, "full");
        }
        assertEquals(List.of(), told(), "it has 118 % of the mean");
        piece(13_000, "full");
        piece(13_000, "full");
        assertTrue(told().stream().anyMatch(move -> move.startsWith("13000: full to ")), told().toString());
    }

    @Test
    void shouldMoveNothingThatOnlyMakesAnotherHomeTheHottest() {
        host("b", 100, 50);
        host("c", 100, 50);
        piece(50_000, "b");
        piece(2_000, "b");
        piece(1_000, "c");
        assertEquals(List.of("2000: b to c, PRESSURE"), told());
    }

    @Test
    void shouldMoveNothingWhoseCopyCostsMoreThanTheFaultsOfAMinute() {
        host("b", 100, 50);
        host("c", 100, 50);
        for (int i = 0; i < 10; i++) {
            piece(PAGES, "b");
        }
        assertEquals(List.of(), told());
        pieces.clear();
        for (int i = 0; i < 10; i++) {
            piece(PAGES + 1, "b");
        }
        assertTrue(told().size() >= 3, told().toString());
    }

    @Test
    void shouldMoveNothingFromAHomeThatIsNearlyIdle() {
        idle = 100_000;
        host("b", 100, 50);
        host("c", 100, 50);
        for (int i = 0; i < 9; i++) {
            piece(10_000, "b");
        }
        assertEquals(List.of(), told());
        piece(10_001, "b");
        assertEquals(List.of("10001: b to c, PRESSURE"), told());
    }

    @Test
    void shouldNotMoveWhatRests() {
        host("b", 100, 50);
        host("c", 100, 50);
        for (int i = 0; i < 10; i++) {
            piece(20_000, false, "b");
        }
        assertEquals(List.of(), told());
    }

    @Test
    void shouldCountTheHomeThatIsReadFromAfterThePromotion() {
        host("b", 100, 50);
        host("c", 100, 50);
        host("d", 100, 50);
        for (int i = 0; i < 4; i++) {
            piece(20_000, "b", "c");
            piece(19_000, "c", "b");
        }
        assertEquals(
                List.of(), told(), "the other home would be under pressure, and the one that joins is not read from");
        pieces.clear();
        for (int i = 0; i < 4; i++) {
            piece(20_000, "b", "c");
        }
        List<String> moves = told();
        assertEquals(2, moves.size(), moves.toString());
        assertTrue(moves.stream().allMatch(move -> move.equals("20000: b to d, PRESSURE")), moves.toString());
    }

    @Test
    void shouldNotHaveTwoHomesInOneDomain() {
        host("b", "x", 100, 50);
        host("c", "y", 100, 50);
        host("d", "y", 100, 50);
        for (int i = 0; i < 4; i++) {
            piece(20_000, "b", "c");
        }
        assertEquals(List.of(), told());
    }

    @Test
    void shouldMoveNearToTheNodeThatAsks() {
        hosts.add(new Balance.Host("g", "near", 0, 0, 0, false));
        host("b", "far", 100, 50);
        host("c", "near", 100, 50);
        host("d", "farther", 100, 50);
        piece(5_000, "b");
        piece(PAGES, "b");
        piece(5_001, "d");
        idle = 100_000;
        assertEquals(List.of("5001: d to c, NEAR", "5000: b to c, NEAR"), told());
        idle = 7_000;
        assertEquals(List.of("5001: d to c, NEAR"), told(), "two would put it under pressure");
    }

    @Test
    void shouldPreferANearHomeUnderPressureIfLoadsAreAboutEqual() {
        hosts.add(new Balance.Host("g", "near", 0, 0, 0, false));
        host("b", "far", 100, 50);
        host("c", "farther", 100, 50);
        host("d", "near", 100, 50);
        for (int i = 0; i < 4; i++) {
            piece(20_000, "b");
        }
        piece(1_000, "c");
        piece(1_500, "d");
        assertEquals("20000: b to d, PRESSURE", told().getFirst());
    }

    @Test
    void shouldGiveANodeThatJoinsTheColdestExtentsOfTheFullest() {
        host("b", 100, 80);
        host("c", 100, 60);
        host("d", 100, 0);
        for (int i = 0; i < 80; i++) {
            piece(i, "b");
        }
        for (int i = 0; i < 60; i++) {
            piece(10 + i, "c");
        }
        List<Balance.Decision> moves = decide();
        assertEquals("0: b to d, CAPACITY", told(moves.getFirst()));
        assertTrue(
                moves.stream().allMatch(move -> move.move().to().equals("d")), "no other is below the mean by so much");
        assertTrue(moves.size() >= 36 && moves.size() < 40, "36.7 of 100, 46.7 being the mean: " + moves.size());
        assertTrue(moves.stream().mapToLong(move -> move.piece().heat()).max().orElseThrow() < 40);
    }

    @Test
    void shouldMoveNothingWhilePoolsAreUsedAboutEqually() {
        host("b", 100, 59);
        host("c", 100, 50);
        host("d", 100, 41);
        for (int i = 0; i < 59; i++) {
            piece(0, "b");
        }
        assertEquals(List.of(), told());
    }

    @Test
    void shouldNotFillANodeBeyondItsRoom() {
        host("b", 100, 50);
        host("c", 3, 2);
        for (int i = 0; i < 10; i++) {
            piece(20_000, "b");
        }
        assertEquals(List.of("20000: b to c, PRESSURE"), told());
    }
}
