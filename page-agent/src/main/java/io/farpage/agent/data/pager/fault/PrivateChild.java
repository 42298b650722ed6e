package io.farpage.agent.data.pager.fault;

import io.farpage.agent.data.pager.memory.AddressSpace;
import io.farpage.agent.data.pager.memory.Installer;
import io.farpage.agent.data.pager.page.PageTable;

/**
 * A child with private memory: a copy of its parent's as of the fork. A page that was not resident then is still zeros,
 * or as the home holds it, since private memory is never written back.
 */
final class PrivateChild extends Child {
    private final PageTable table;
    private final Arrivals arrivals;
    private final FaultHandler faults;

    /**
     * @param memory of the child, whose table has the states of its parent's at the fork
     * @param children serves grandchildren
     */
    PrivateChild(AddressSpace memory, Children children) {
        super(memory);
        table = memory.table();
        Installer installer = new Installer(memory, Installer.Sharers.NONE);
        arrivals = new Arrivals(memory, installer);
        faults = new FaultHandler(
                memory, installer, arrivals, new Residency(memory, installer, arrivals, children), children);
    }

    @Override
    int doWork() {
        if (memory().isGone()) {
            arrivals.end();
            return arrivals.install();
        }
        int work = table.inheritBlock();
        work += messages().isBehind() ? 0 : arrivals.install();
        work += messages().read(faults);
        return messages().isBehind() ? work : work + faults.serveQueue();
    }

    @Override
    boolean isBusy() {
        return table.isInheriting()
                || arrivals.isWaiting()
                || faults.queue().isBusy()
                || messages().isBehind();
    }

    @Override
    boolean hasEnded() {
        return memory().isGone() && arrivals.incoming() == 0;
    }

    @Override
    public void close() {
        super.close();
        table.discard();
    }
}
