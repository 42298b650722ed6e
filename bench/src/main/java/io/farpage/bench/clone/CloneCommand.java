package io.farpage.bench.clone;

import io.farpage.bench.baseline.BaselineProgram;
import io.farpage.bench.baseline.FaultToucher;
import io.farpage.bench.command.BaselineRunner;
import io.farpage.bench.command.MeasuringCommand;
import io.farpage.bench.command.Rounds;
import io.farpage.bench.report.FetchRun;
import io.farpage.guest.command.CommandException;
import io.farpage.guest.vmm.Handoff;
import io.farpage.linux.PosixException;
import io.farpage.linux.uffd.Userfaultfd;
import io.farpage.progress.Progress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code page-bench clone}. */
@Command(
        name = "clone",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description =
                "Starts a coordinator and two agents on this machine, makes two snapshots at one of them, and clones of"
                        + " them on the other: processes that hand their memory over, and such that map the snapshot as"
                        + " a file. Measures the time until a clone has its first page, that of each page, what is"
                        + " fetched, and what memory clones share, beside processes that map a local file.")
public final class CloneCommand extends MeasuringCommand<ClonePlan> {
    private static final String NO_BASELINE = "--no-baseline was given";

    @Mixin
    private final CloneOptions options = new CloneOptions();

    @Override
    protected ClonePlan plan(List<Integer> allowedCpus) {
        return ClonePlan.of(options, allowedCpus, SnapshotMount.obstacle());
    }

    @Override
    protected List<FetchRun> measure(ClonePlan plan, Running running) throws InterruptedException {
        requireUserfaultfd();
        Progress progress = running.progress();
        progress.label("building the C program");
        FaultToucher toucher = new FaultToucher(build(plan), running.children());
        progress.label("starting agents");
        try (CloneAgents agents = new CloneAgents(running, plan)) {
            progress.label("making the snapshots");
            Snapshot small = agents.makeSnapshot(plan.given().memory);
            Snapshot large = agents.makeSnapshot(plan.given().large);
            Measurement measurement =
                    new Measurement(new Bench(plan, agents, toucher), progress, running.rounds(), small, large);
            if (!plan.mounts()) {
                return measurement.run(null);
            }
            try (SnapshotMount mount = agents.mount()) {
                return measurement.run(mount);
            }
        }
    }

    private static void requireUserfaultfd() {
        try {
            Userfaultfd.open(Handoff.FEATURES).close();
        } catch (PosixException e) {
            throw new CommandException(
                    "clones need userfaultfd: " + e.getMessage() + "; page-agent doctor says what to allow", e);
        }
    }

    private static Path build(ClonePlan plan) throws InterruptedException {
        return switch (BaselineProgram.build(
                BaselineProgram.TOUCHER, plan.run().report().resolve("baseline"))) {
            case BaselineProgram.Built(Path built, Path _) -> built;
            case BaselineProgram.Unavailable(String reason) ->
                throw new CommandException("what touches the memory is a C program: " + reason);
        };
    }

    /** All runs, one after another. */
    private record Measurement(Bench bench, Progress progress, Rounds rounds, Snapshot small, Snapshot large) {
        List<FetchRun> run(@Nullable SnapshotMount mount) throws InterruptedException {
            MappedFile localSmall = MappedFile.local(small);
            MappedFile localLarge = MappedFile.local(large);
            progress.label("warming up");
            warmUp(mount);
            List<FetchRun> runs = new ArrayList<>();
            runs.add(starts(new CloneStarts(bench, small), local(new FileStarts(bench, localSmall))));
            runs.add(starts(new CloneStarts(bench, large), CloneRun.baseline(bench, new CloneStarts(bench, small))));
            runs.add(touches(new CloneTouches(bench, small), local(new FileTouches(bench, localSmall))));
            if (mount != null) {
                MappedFile ofLarge = new MappedFile("start-file", mount.file(large), false, false);
                runs.add(starts(new FileStarts(bench, ofLarge), local(new FileStarts(bench, localLarge))));
                FileTouches cold = new FileTouches(bench, new MappedFile("touch-file", mount.file(small), false, true));
                runs.add(touches(cold, local(new FileTouches(bench, localSmall))));
                runs.add(share(mount, localSmall));
                FileTouches cached =
                        new FileTouches(bench, new MappedFile("touch-file-cached", mount.file(small), false, false));
                runs.add(touches(cached, local(new FileTouches(bench, localSmall))));
            }
            return runs;
        }

        /** Leaves all pages of the file in the page cache. */
        private FetchRun share(SnapshotMount mount, MappedFile local) throws InterruptedException {
            ClonePlan plan = bench.plan();
            @Nullable Sharers baseline = plan.run().noBaseline() ? null : new Sharers(bench, local, null);
            MappedFile file = new MappedFile("shared-file", mount.file(small), false, true);
            return rounds.measure(
                    new CloneRun(bench, new Sharers(bench, file, baseline), "touch", plan.given().sharers, 0),
                    baseline == null ? BaselineRunner.absent(NO_BASELINE) : CloneRun.baseline(bench, baseline),
                    1);
        }

        /** Starts clones, for the greater part, until the time is over. */
        private void warmUp(@Nullable SnapshotMount mount) throws InterruptedException {
            CloneStarts starts = new CloneStarts(bench, small);
            List<Side> touches = new ArrayList<>(List.of(new CloneTouches(bench, small)));
            if (mount != null) {
                touches.add(new FileTouches(bench, new MappedFile("warm-up", mount.file(small), false, true)));
            }
            long deadline = System.nanoTime() + bench.plan().given().warmup.toNanos();
            for (int i = 0; System.nanoTime() - deadline < 0; i++) {
                var _ = i < touches.size() ? touches.get(i).run(0) : starts.run(0);
            }
        }

        private BaselineRunner local(Side side) {
            return bench.plan().run().noBaseline()
                    ? BaselineRunner.absent(NO_BASELINE)
                    : CloneRun.baseline(bench, side);
        }

        private FetchRun starts(Side side, BaselineRunner baseline) throws InterruptedException {
            return rounds.measure(
                    new CloneRun(bench, side, "start", 1, 0),
                    baseline,
                    bench.plan().rounds());
        }

        private FetchRun touches(Side side, BaselineRunner baseline) throws InterruptedException {
            return rounds.measure(
                    new CloneRun(bench, side, "touch", 1, bench.plan().settle()),
                    baseline,
                    bench.plan().rounds());
        }
    }
}
