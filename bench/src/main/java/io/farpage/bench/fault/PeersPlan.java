package io.farpage.bench.fault;

import static io.farpage.bench.command.Plan.require;

import io.farpage.bench.command.Plan;
import io.farpage.bench.command.RunOptions;
import io.farpage.bench.report.Subject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * What to measure, checked.
 *
 * @param fault pages, placement and rounds, which are the same for all sides
 * @param peers to be compared with the page server in C
 * @param skipped why a peer that was not asked for by name is left out
 */
record PeersPlan(FaultPlan fault, List<Peer> peers, List<String> skipped) implements Plan {
    /** For a server to start and to be filled, as a quiet machine does it. */
    private static final Duration START = Duration.ofSeconds(2);

    /**
     * Checks the options.
     *
     * @param allowedCpus that this process may use, in order
     * @param path directories of programs, as in the variable PATH
     * @throws IllegalArgumentException naming the option, the value and what is allowed
     */
    static PeersPlan of(PeersOptions o, List<Integer> allowedCpus, String path) {
        FaultPlan fault = FaultPlan.of(o.ofFaults(), allowedCpus);
        require(!fault.run().noBaseline(), "--no-baseline: peers are compared with the page server in C; leave it out");
        List<String> skipped = new ArrayList<>(fault.skipped());
        List<Peer> peers = new ArrayList<>();
        for (Peer peer : o.peers.isEmpty() ? List.of(Peer.values()) : o.peers) {
            Optional<String> missing = peer.missing(path);
            if (missing.isPresent()) {
                String why = peer.label() + ": " + missing.get();
                require(o.peers.isEmpty(), "--peer " + why);
                skipped.add(why);
            } else if (!peers.contains(peer)) {
                peers.add(peer);
            }
        }
        return new PeersPlan(fault, peers, skipped);
    }

    boolean hasFarpage() {
        return peers.contains(Peer.FARPAGE);
    }

    @Override
    public Subject subject() {
        return Subject.PEERS;
    }

    @Override
    public RunOptions run() {
        return fault.run();
    }

    @Override
    public long allRounds() {
        return fault.allRounds();
    }

    @Override
    public Duration expected() {
        int sides = peers.size() + 1;
        return fault.prepared()
                .plus(START.multipliedBy((long) sides * fault.scenarios().size()))
                .plus(fault.side().multipliedBy(sides * allRounds()));
    }

    @Override
    public long hugepages() {
        return fault.hugepages();
    }
}
