package io.farpage.agent.control.link;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.link.RailPairs.Pair;
import io.farpage.agent.control.link.RailPairs.Port;
import io.farpage.coordinator.model.Fabric;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

final class RailPairsTest {
    private static final Fabric DATA = Fabric.of("ETHERNET", Optional.of("10.1.0.0/16"));
    private static final Fabric STORAGE = Fabric.of("ETHERNET", Optional.of("10.2.0.0/16"));
    private static final Fabric UNKNOWN = Fabric.of("ETHERNET", Optional.empty());
    private static final Fabric INFINIBAND = Fabric.of("INFINIBAND", Optional.of("fe80:0:0:0:0:0:0:0/64"));
    private static final Fabric OTHER_INFINIBAND = Fabric.of("INFINIBAND", Optional.of("fec0:0:0:0:0:0:0:0/64"));
    private static final List<Fabric> ALL = List.of(DATA, STORAGE, UNKNOWN, INFINIBAND, OTHER_INFINIBAND);

    /** Devices with rails from 0. */
    private static List<Port> ports(Fabric... fabrics) {
        List<Port> ports = new ArrayList<>();
        for (Fabric fabric : fabrics) {
            ports.add(new Port(ports.size(), fabric));
        }
        return ports;
    }

    private static List<Pair> pairs(List<Port> mine, List<Port> theirs) {
        return RailPairs.of(mine, theirs, true);
    }

    /** All nodes of one to three devices. */
    private static List<List<Port>> nodes() {
        List<List<Port>> nodes = new ArrayList<>();
        for (Fabric a : ALL) {
            nodes.add(ports(a));
            for (Fabric b : ALL) {
                nodes.add(ports(a, b));
                for (Fabric c : ALL) {
                    nodes.add(ports(a, b, c));
                }
            }
        }
        return nodes;
    }

    private static Port port(List<Port> of, int rail) {
        return of.stream().filter(port -> port.rail() == rail).findFirst().orElseThrow();
    }

    @SuppressWarnings("ArgumentSelectionDefectChecker") // the pair as the other node sees it
    private static Pair turned(Pair pair) {
        return new Pair(pair.theirs(), pair.mine());
    }

    @Test
    void shouldChooseTheSamePairsOnBothNodes() {
        for (List<Port> a : nodes()) {
            for (List<Port> b : nodes()) {
                List<Pair> ofA = RailPairs.of(a, b, true);
                List<Pair> ofB = RailPairs.of(b, a, false);
                assertEquals(ofA, ofB.stream().map(RailPairsTest::turned).toList(), () -> a + " and " + b);
            }
        }
    }

    @Test
    void shouldChooseTheSamePairsWhateverTheOrderOfTheDevices() {
        for (List<Port> a : nodes()) {
            for (List<Port> b : nodes()) {
                List<Port> reversed = new ArrayList<>(a);
                Collections.reverse(reversed);
                List<Port> rotated = new ArrayList<>(b);
                Collections.rotate(rotated, 1);
                assertEquals(pairs(a, b), pairs(reversed, rotated), () -> a + " and " + b);
            }
        }
    }

    @Test
    void shouldUseEachDeviceOnceAndNeverTwoLinkLayers() {
        for (List<Port> a : nodes()) {
            for (List<Port> b : nodes()) {
                List<Pair> pairs = pairs(a, b);
                assertEquals(
                        pairs.size(), pairs.stream().map(Pair::mine).distinct().count());
                assertEquals(
                        pairs.size(),
                        pairs.stream().map(Pair::theirs).distinct().count());
                for (Pair pair : pairs) {
                    assertEquals(
                            port(a, pair.mine()).fabric().linkLayer(),
                            port(b, pair.theirs()).fabric().linkLayer());
                }
            }
        }
    }

    @Test
    void shouldFindAPairWheneverTwoDevicesMayReachEachOther() {
        for (List<Port> a : nodes()) {
            for (List<Port> b : nodes()) {
                boolean mayReach = a.stream()
                        .anyMatch(own -> b.stream()
                                .anyMatch(other -> own.fabric().equals(other.fabric())
                                        || (own.fabric().linkLayer().equals("ETHERNET")
                                                && other.fabric().linkLayer().equals("ETHERNET"))));
                assertEquals(mayReach, !pairs(a, b).isEmpty(), () -> a + " and " + b);
            }
        }
    }

    @Test
    void shouldPairDevicesOfOneSubnetWhoseRailsDiffer() {
        assertEquals(List.of(new Pair(1, 0)), pairs(ports(STORAGE, DATA), ports(DATA)));
        assertEquals(List.of(new Pair(0, 1), new Pair(1, 0)), pairs(ports(STORAGE, DATA), ports(DATA, STORAGE)));
        assertEquals(List.of(new Pair(1, 0)), pairs(ports(INFINIBAND, DATA), ports(DATA, OTHER_INFINIBAND)));
    }

    @Test
    void shouldSpreadOverAllPairsOfTheBestFit() {
        assertEquals(List.of(new Pair(0, 0), new Pair(1, 1)), pairs(ports(DATA, DATA), ports(DATA, DATA)));
        assertEquals(List.of(new Pair(0, 0), new Pair(1, 1)), pairs(ports(UNKNOWN, UNKNOWN), ports(DATA, STORAGE)));
        assertEquals(List.of(new Pair(0, 0)), pairs(ports(DATA, STORAGE), ports(DATA, UNKNOWN)));
    }

    @Test
    void shouldTryARouterWhenNoSubnetIsTheSame() {
        assertEquals(List.of(new Pair(0, 0)), pairs(ports(DATA), ports(STORAGE)));
        assertTrue(pairs(ports(INFINIBAND), ports(OTHER_INFINIBAND)).isEmpty());
        assertTrue(pairs(ports(INFINIBAND), ports(DATA)).isEmpty());
    }

    @Test
    void shouldTakeTheNextPairsWhenEitherNodeAvoidsOne() {
        List<Port> plain = ports(DATA, DATA);
        List<Port> avoiding = ports(DATA.avoiding(List.of(0)), DATA);
        List<Pair> next = List.of(new Pair(0, 1), new Pair(1, 0));
        assertEquals(next, pairs(avoiding, plain));
        assertEquals(next, pairs(plain, avoiding));
        assertEquals(List.of(new Pair(1, 0)), pairs(ports(DATA.avoiding(List.of(0)), DATA), ports(DATA)));
        assertFalse(
                pairs(ports(DATA.avoiding(List.of(0)), UNKNOWN), ports(DATA)).isEmpty());
        assertTrue(pairs(ports(DATA.avoiding(List.of(0))), ports(DATA)).isEmpty());
    }
}
