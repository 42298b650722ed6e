package io.farpage.guest.vmm;

import io.farpage.guest.command.CommandException;
import io.farpage.guest.vmm.GuestCode.Order;
import io.farpage.guest.vmm.GuestResult.PassResult;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Runs a guest through its passes. */
final class GuestRun {
    private final GuestPlan plan;
    private final VirtualMachine machine;

    /** How many times the pages have been written. */
    private int generation;

    private GuestRun(GuestPlan plan, VirtualMachine machine) {
        this.plan = plan;
        this.machine = machine;
    }

    /**
     * Makes a virtual machine, hands its memory over if the plan has a socket, and runs it.
     *
     * @throws CommandException if it cannot, or if a pass is not done in time; then its vCPUs still wait for pages, in
     *     daemon threads, and nothing of the machine can be freed before this process ends
     */
    static GuestResult run(GuestPlan plan) throws InterruptedException {
        GuestMemory memory = GuestMemory.map(plan.backing(), plan.memoryBytes());
        Optional<Handoff> handoff = Optional.empty();
        Optional<VirtualMachine> machine = Optional.empty();
        boolean running = false;
        try {
            machine = Optional.of(VirtualMachine.create(memory, plan.vcpus()));
            handoff = plan.socket().map(socket -> Handoff.of(memory, socket, plan.pagers()));
            GuestRun run = new GuestRun(plan, machine.get());
            List<PassResult> passes = new ArrayList<>();
            for (Pass pass : plan.passes()) {
                running = true;
                passes.add(run.pass(pass));
                running = false;
            }
            return new GuestResult(
                    plan.socket().isPresent() ? "remote" : "local",
                    plan.memoryBytes(),
                    plan.backing().label(),
                    plan.vcpus(),
                    plan.walk().label(),
                    plan.words(),
                    plan.seed(),
                    passes);
        } finally {
            if (!running) {
                machine.ifPresent(VirtualMachine::close);
                handoff.ifPresent(Handoff::close);
                memory.close();
            }
        }
    }

    private PassResult pass(Pass pass) throws InterruptedException {
        Content expected = expected(pass);
        Content written = Content.written(plan.seed(), generation + 1);
        CountDownLatch start = new CountDownLatch(1);
        List<FutureTask<GuestReport>> shares = new ArrayList<>();
        for (Vcpu vcpu : machine.vcpus()) {
            PageRange range = pass == Pass.COUNT
                    ? new PageRange(0, plan.pages())
                    : PageRange.share(plan.pages(), vcpu.index(), plan.vcpus());
            byte[] program = GuestCode.assemble(pass, order(range), range, plan.words(), expected, written);
            FutureTask<GuestReport> share = new FutureTask<>(() -> {
                start.await();
                GuestReport report = new GuestReport();
                vcpu.run(program, report);
                return report;
            });
            shares.add(share);
            Thread.ofPlatform().daemon().name("vcpu-" + vcpu.index()).start(share);
        }
        long begin = System.nanoTime();
        start.countDown();
        long deadline = begin + plan.timeout().toNanos();
        List<GuestReport> reports = new ArrayList<>();
        for (FutureTask<GuestReport> share : shares) {
            reports.add(await(share, pass, deadline));
        }
        long ns = System.nanoTime() - begin;
        if (pass.writes()) {
            generation++;
        }
        return new PassResult(
                pass.label(),
                reports.stream().mapToLong(GuestReport::visited).sum(),
                reports.stream().mapToLong(GuestReport::mismatches).sum(),
                reports.stream()
                        .filter(report -> report.mismatches() > 0)
                        .findFirst()
                        .map(report -> report.firstMismatch(expected))
                        .orElse(""),
                ns);
    }

    private Content expected(Pass pass) {
        if (pass == Pass.COUNTED) {
            return new Content(0, plan.counted());
        }
        return generation == 0 ? Content.ZEROS : Content.written(plan.seed(), generation);
    }

    private Order order(PageRange range) {
        return switch (plan.walk()) {
            case SEQUENTIAL -> new GuestCode.Steps(1);
            case STRIDE -> GuestCode.Steps.nearest(plan.stride(), range.count());
            case RANDOM -> new GuestCode.Shuffle(plan.seed(), range.count());
        };
    }

    private GuestReport await(FutureTask<GuestReport> share, Pass pass, long deadline) throws InterruptedException {
        try {
            return share.get(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            throw new CommandException(
                    "the pass " + pass.label() + " is not done after " + seconds(plan.timeout())
                            + " s: the guest waits for a page that does not come, or needs a longer --timeout",
                    e);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof CommandException said) {
                throw said;
            }
            throw new IllegalStateException("a vCPU's thread failed", e.getCause());
        }
    }

    private static String seconds(Duration duration) {
        return String.valueOf(duration.toMillis() / 1000.0);
    }
}
