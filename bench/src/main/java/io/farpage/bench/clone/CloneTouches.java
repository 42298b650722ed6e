package io.farpage.bench.clone;

import io.farpage.bench.report.Cost;
import io.farpage.bench.report.FetchRound;

/** First touches of pages by clones whose memory a process hands over: one clone a round, and the same pages in all. */
final class CloneTouches implements Side {
    private final Bench bench;
    private final Snapshot snapshot;
    private long rounds;
    private long fetched;

    CloneTouches(Bench bench, Snapshot snapshot) {
        this.bench = bench;
        this.snapshot = snapshot;
    }

    @Override
    public String name() {
        return "touch-userfaultfd";
    }

    @Override
    public String backing() {
        return bench.clonesBacking();
    }

    @Override
    public FetchRound run(int round) throws InterruptedException {
        long before = bench.agents().fetchedPages();
        CloneAgents.Attached clone = bench.agents().attach(snapshot);
        FetchRound done = bench.toucher()
                .touch(bench.setting(clone.memory(), bench.plan().given().touches), bench.walk())
                .round();
        fetched += bench.agents().delete(clone) + bench.agents().fetchedPages() - before;
        rounds++;
        return done;
    }

    @Override
    public Cost cost() {
        long touches = bench.plan().given().touches;
        return new Cost.OfTouches(rounds * touches, touches, fetched);
    }
}
