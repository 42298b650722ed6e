package io.farpage.bench.footprint;

import io.farpage.guest.command.CommandException;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** An agent with links: the slope between half of its peers and all of them. */
final class LinkedAgent {
    private static final Duration UP = Duration.ofMinutes(2);
    private static final long LOOK_MILLIS = 100;

    private LinkedAgent() {}

    static List<Section> measure(Bench bench) throws InterruptedException {
        int peers = bench.options().peers();
        int shards = bench.options().shards();
        int half = peers / 2;
        Map<String, String> more = Map.of(
                "link.mode", "mesh", "link.max", Integer.toString(peers), "shard.count", Integer.toString(shards));
        Map<String, String> ofPeers = Map.of("shard.count", Integer.toString(shards));
        try (Agent agent = Agent.startSteady(bench, "linked", Agent.HEAP_MIB, more)) {
            Figures none = agent.settled();
            bench.step("links: starting %d of %d peers".formatted(half, peers));
            try (Peers _ = Peers.start(bench, "peer", 0, half, ofPeers)) {
                awaitUp(bench, agent, half * shards);
                Figures some = agent.settled();
                bench.step("links: starting %d more peers".formatted(peers - half));
                try (Peers _ = Peers.start(bench, "peer", half, peers - half, ofPeers)) {
                    awaitUp(bench, agent, peers * shards);
                    Figures all = agent.settled();
                    Figures each = all.minus(some).dividedBy(peers - half);
                    return List.of(new Section(
                            "links",
                            "links over TCP to %d peers, each with %d queue pairs (heap of one size)"
                                    .formatted(peers, shards),
                            List.of(
                                    new Row("agent without links, %d shards".formatted(shards), none),
                                    new Row("agent with %d links".formatted(peers), all.with(agent.cpu())),
                                    new Row("each link, slope of the last %d".formatted(peers - half), each),
                                    new Row("each queue pair", each.dividedBy(shards)))));
                }
            }
        }
    }

    private static void awaitUp(Bench bench, Agent agent, int queuePairs) throws InterruptedException {
        long end = System.nanoTime() + UP.toNanos();
        long up = agent.client().queuePairsUp();
        while (up < queuePairs) {
            if (System.nanoTime() - end > 0) {
                throw new CommandException("%d of %d queue pairs are up after %d s: %s"
                        .formatted(up, queuePairs, UP.toSeconds(), agent.child().lastWords()));
            }
            bench.progress().label("links: %d of %d queue pairs are up".formatted(up, queuePairs));
            Thread.sleep(LOOK_MILLIS);
            up = agent.client().queuePairsUp();
        }
    }
}
