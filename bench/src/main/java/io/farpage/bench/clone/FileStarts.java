package io.farpage.bench.clone;

import io.farpage.bench.baseline.FaultToucher;
import io.farpage.bench.baseline.HeldToucher;
import io.farpage.bench.report.Cost;
import io.farpage.bench.report.FetchRound;

/** Measures starts of processes that map a file: from before a process opens it until it has its first page. */
final class FileStarts implements Side {
    private final Bench bench;
    private final MappedFile file;
    private long touches;
    private long fetched;

    FileStarts(Bench bench, MappedFile file) {
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
        FetchRound done = file.use(bench.agents(), () -> bench.starts(round, this::start));
        fetched += bench.agents().fetchedPages() - before;
        touches += done.latencies().getTotalCount();
        return done;
    }

    private HeldToucher.Touched start(FaultToucher.Walk walk) throws InterruptedException {
        try (HeldToucher toucher = bench.toucher().arm(bench.setting(file.memory(), 1), walk)) {
            toucher.go();
            return toucher.touched();
        }
    }

    @Override
    public Cost cost() {
        return new Cost.OfTouches(touches, touches, fetched);
    }
}
