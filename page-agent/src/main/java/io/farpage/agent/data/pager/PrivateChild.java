package io.farpage.agent.data.pager;

import io.farpage.agent.data.shard.FetchStatus;
import io.farpage.agent.data.shard.Fetcher;
import io.farpage.linux.uffd.PageFaults;
import io.farpage.pool.PagePool;
import java.util.function.IntConsumer;
import java.util.function.LongSupplier;

/**
 * A child with private memory: a copy of its parent's as of the fork. A page that was not resident then is still zeros, or as the home holds it,
 * since private memory is never written back.
 */
final class PrivateChild implements Child {
    private final PageFaults uffd;
    private final PageTable table;
    private final Transfers transfers;
    private final Installer installer;
    private final Arrivals arrivals;
    private final FaultHandler faults;
    private final KernelMessages messages;

    /**
     * What children have in common with their parent.
     *
     * @param space its name, for messages
     * @param fetcher whose slots they share
     * @param options the VMM's
     */
    record Family(
            String space,
            Homes homes,
            Fetcher fetcher,
            PagePool pool,
            PagerCounters counters,
            Heat heat,
            PagerOptions options,
            LongSupplier clock) {}

    /**
     * @param layout of the child
     * @param table of the child, with the states of its parent's at the fork
     * @param forked receives the descriptor of a grandchild's memory
     */
    PrivateChild(Family family, PageFaults uffd, GuestLayout layout, PageTable table, IntConsumer forked) {
        this.uffd = uffd;
        this.table = table;
        transfers = new Transfers(family.fetcher(), family.homes(), family.pool(), layout.pageBytes());
        installer = new Installer(uffd, layout, table, family.space(), false, false, family.clock());
        arrivals = new Arrivals(
                family.space(),
                table,
                layout,
                family.homes(),
                family.fetcher(),
                transfers,
                installer,
                family.pool(),
                family.counters(),
                family.clock());
        faults = new FaultHandler(
                table,
                layout,
                family.homes(),
                transfers,
                installer,
                arrivals,
                family.counters(),
                family.heat(),
                family.options().prefetchPages(),
                _ -> PagerOptions.MAX_RUN,
                forked,
                family.clock());
        messages = new KernelMessages(
                family.space(), uffd, layout, false, family.options().turnPages(), family.clock());
    }

    @Override
    public int fd() {
        return messages.fd();
    }

    @Override
    public int descriptor() {
        return uffd.fd();
    }

    @Override
    public int doWork() {
        if (installer.isGone()) {
            return arrivals.install(false);
        }
        int work = table.inheritBlock();
        work += messages.isBehind() ? 0 : arrivals.install(true);
        work += messages.read(faults);
        return messages.isBehind() ? work : work + faults.serveQueue();
    }

    @Override
    public boolean isBusy() {
        return table.isInheriting() || arrivals.isWaiting() || !faults.queue().isEmpty() || messages.isBehind();
    }

    @Override
    public void probe() {
        installer.probe();
    }

    @Override
    public boolean hasEnded() {
        return installer.isGone() && arrivals.incoming() == 0;
    }

    @Override
    public boolean owns(int slot) {
        return transfers.owns(slot);
    }

    @Override
    public void completed(int slot, FetchStatus status) {
        if (status == FetchStatus.OK) {
            arrivals.arrived(slot);
        } else {
            arrivals.failed(slot, status, installer.isGone() ? null : faults.queue());
        }
    }

    @Override
    public void close() {
        uffd.close();
        table.discard();
    }
}
