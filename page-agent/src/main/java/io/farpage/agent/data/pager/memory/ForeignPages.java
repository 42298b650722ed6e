package io.farpage.agent.data.pager.memory;

import io.farpage.agent.data.pager.page.PageTable;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Pages at their homes that the memory file has all the same: another process, a child that the agent does not serve,
 * or the VMM itself wrote to the file past the mapping that the agent serves. The kernel refuses to install such a page
 * (EEXIST). What the file has stays, because the guest may have stored to it since, and is reported: it is not what the
 * guest stored last. A VMM that has registered its memory for minor faults fills pages in that way by agreement. The
 * shard's thread only.
 */
final class ForeignPages {
    private static final Logger log = LoggerFactory.getLogger(ForeignPages.class);

    private static final long LOG_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final PagerContext context;
    private boolean logged;
    private long loggedAt;
    private long unlogged;

    ForeignPages(PagerContext context) {
        this.context = context;
    }

    /**
     * The file has a page that is being installed. At most one a second is logged.
     *
     * @param state of the page before
     */
    void onExists(int page, int state) {
        boolean isAtHome = state == PageTable.FETCHING || state == PageTable.REMOTE;
        if (!isAtHome || !context.isShared() || context.isFilledByVmm()) {
            return;
        }
        context.counters().foreign().add(1);
        long now = context.clock().getAsLong();
        if (logged && now - loggedAt < LOG_NANOS) {
            unlogged++;
            return;
        }
        log.error(
                "space {}: page {} is in the memory file although it is at its home and the agent has not installed it;"
                        + " the guest keeps what the file has. Another process maps the file, or the VMM writes to it"
                        + " past its registered mapping ({} more such pages since the last line)",
                context.space(),
                page,
                unlogged);
        logged = true;
        loggedAt = now;
        unlogged = 0;
    }
}
