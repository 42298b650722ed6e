package io.farpage.bench.clone;

import io.farpage.bench.report.Cost;
import io.farpage.bench.report.FetchRound;

/** First touches of pages of a file by processes that map it: one process a round, and the same pages in all. */
final class FileTouches implements Side {
    private final Bench bench;
    private final MappedFile file;
    private long rounds;
    private long fetched;

    FileTouches(Bench bench, MappedFile file) {
        this.bench = bench;
        this.file = file;
    }

    @Override
    public String name() {
        return file.name();
    }

    @Override
    public String backing() {
        return "file";
    }

    @Override
    public FetchRound run(int round) throws InterruptedException {
        long before = bench.agents().fetchedPages();
        long touches = bench.plan().given().touches;
        FetchRound done = file.use(
                bench.agents(),
                () -> bench.toucher()
                        .touch(bench.setting(file.memory(), touches), bench.walk())
                        .round());
        fetched += bench.agents().fetchedPages() - before;
        rounds++;
        return done;
    }

    @Override
    public Cost cost() {
        long touches = bench.plan().given().touches;
        return new Cost.OfTouches(rounds * touches, touches, fetched);
    }
}
