package io.farpage.agent.control.link;

import io.farpage.coordinator.model.Fabric;
import io.farpage.verbs.LinkLayer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Chooses which RDMA device of one node carries a link together with which of the other. A pure function of what both
 * have offered, so both nodes choose the same pairs.
 *
 * <p>Ports of different link layers do not reach each other, nor do those of different subnets on InfiniBand. Ports of
 * one subnet come before others, which a router may connect or not. Among equals the lowest rails come first, which are
 * the fastest devices. Each device is in one pair at most.
 */
final class RailPairs {
    private RailPairs() {}

    /** A device as its node offers it. */
    record Port(int rail, Fabric fabric) {
        private boolean avoids(Port other) {
            return fabric.avoids().contains(other.rail);
        }
    }

    /** A device of this node and one of the peer. */
    record Pair(int mine, int theirs) {}

    /** How likely two ports reach each other; later constants are better. */
    private enum Fit {
        NONE,
        POSSIBLE,
        SAME_SUBNET
    }

    private record Candidate(Port first, Port second, Fit fit) {
        private int sum() {
            return first.rail() + second.rail();
        }
    }

    /**
     * The pairs that the shards of a link are spread over: shard <i>s</i> uses the <i>s</i> modulo <i>n</i>th.
     *
     * @param isFirst whether this node is the first of the two, which they must agree on
     * @return empty if no two devices may reach each other
     */
    static List<Pair> of(List<Port> mine, List<Port> theirs, boolean isFirst) {
        List<Candidate> candidates = isFirst ? candidates(mine, theirs) : candidates(theirs, mine);
        Fit best = candidates.stream()
                .map(Candidate::fit)
                .max(Comparator.naturalOrder())
                .orElse(Fit.NONE);
        if (best == Fit.NONE) {
            return List.of();
        }
        List<Candidate> ordered = candidates.stream()
                .filter(candidate -> candidate.fit() == best)
                .sorted(Comparator.comparingInt(Candidate::sum)
                        .thenComparingInt(candidate -> candidate.first().rail()))
                .toList();
        Set<Integer> first = new HashSet<>();
        Set<Integer> second = new HashSet<>();
        List<Pair> pairs = new ArrayList<>();
        for (Candidate candidate : ordered) {
            int a = candidate.first().rail();
            int b = candidate.second().rail();
            if (!first.contains(a) && !second.contains(b)) {
                first.add(a);
                second.add(b);
                pairs.add(isFirst ? new Pair(a, b) : new Pair(b, a));
            }
        }
        return pairs;
    }

    private static List<Candidate> candidates(List<Port> first, List<Port> second) {
        List<Candidate> candidates = new ArrayList<>();
        for (Port a : first) {
            for (Port b : second) {
                if (!a.avoids(b) && !b.avoids(a)) {
                    candidates.add(new Candidate(a, b, fit(a.fabric(), b.fabric())));
                }
            }
        }
        return candidates;
    }

    private static Fit fit(Fabric a, Fabric b) {
        if (!a.linkLayer().equals(b.linkLayer())) {
            return Fit.NONE;
        }
        if (a.subnet().isPresent() && a.subnet().equals(b.subnet())) {
            return Fit.SAME_SUBNET;
        }
        boolean differ = a.subnet().isPresent() && b.subnet().isPresent();
        return differ && a.linkLayer().equals(LinkLayer.INFINIBAND.toString()) ? Fit.NONE : Fit.POSSIBLE;
    }
}
