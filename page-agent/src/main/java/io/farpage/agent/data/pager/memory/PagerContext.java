package io.farpage.agent.data.pager.memory;

import io.farpage.agent.data.pager.home.Homes;
import io.farpage.agent.data.pager.home.PagerBacking;
import io.farpage.agent.data.pager.home.WrittenHomes;
import io.farpage.agent.data.pager.page.GuestLayout;
import io.farpage.agent.data.pager.page.KeptTable;
import io.farpage.agent.data.pager.page.PageTable;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.agent.data.pager.page.VictimMemory;
import io.farpage.agent.data.pager.transfer.Sealing;
import io.farpage.agent.data.pager.transfer.Staging;
import io.farpage.agent.data.pager.transfer.Transfers;
import io.farpage.agent.data.shard.SilenceClock;
import io.farpage.linux.uffd.GuestFile;
import io.farpage.pool.PagePool;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What the parts of one guest's pager share: those that serve the VMM, and those that serve the processes that it
 * forked. The shard's thread only.
 */
public final class PagerContext {
    private final String space;
    private final @Nullable GuestFile file;
    private final boolean isFilledByVmm;
    private final Pins pins;
    private final @Nullable KeptTable kept;
    private final PagePool pool;
    private final PagerOptions options;
    private final LongSupplier clock;
    private final SilenceClock silence;
    private final Homes homes;
    private final WrittenHomes writtenHomes;
    private final Staging staging;
    private final Transfers transfers;
    private final Sealing sealing;
    private final PagerCounters counters = new PagerCounters();
    private final Heat heat;
    private final FrozenPages frozen;
    private final VictimMemory victims;

    public PagerContext(PagedGuest guest, PagerBacking backing, PagerOptions options, LongSupplier clock) {
        this.options = options;
        this.clock = clock;
        space = guest.space();
        file = guest.file();
        isFilledByVmm = guest.isFilledByVmm();
        pins = guest.pins();
        kept = guest.kept();
        pool = backing.pool();
        silence = backing.fetcher().silence();
        homes = new Homes(backing, clock, silence);
        writtenHomes = new WrittenHomes(homes, clock, silence);
        staging = new Staging(pool, backing.shares(), guest.pageBytes(), homes);
        sealing = new Sealing(guest.seal(), staging);
        transfers = new Transfers(backing.fetcher(), homes, writtenHomes, staging, silence);
        heat = new Heat(pages(), clock);
        frozen = new FrozenPages(pages());
        victims = guest.pageBytes() == GuestLayout.BASE_PAGE && !isFilledByVmm ? backing.victims() : VictimMemory.NONE;
    }

    /** The pages that a snapshot needs as they were. */
    public FrozenPages frozen() {
        return frozen;
    }

    /** Where the memory for evicted pages is taken from. */
    VictimMemory victims() {
        return victims;
    }

    /** Name of the space, for messages. */
    public String space() {
        return space;
    }

    /** Pages of the guest. */
    int pages() {
        return homes.pages();
    }

    /** The table of the VMM. Pages that their home has never had are zeros, as far as that is known. */
    public PageTable newTable(boolean written) {
        PageTable table =
                kept == null ? new PageTable(pages(), written) : kept.table(pages(), written, clock.getAsLong());
        if (written) {
            sealing.prepare(table, kept != null && kept.isAdopted());
        }
        return table;
    }

    /** Whether the memory is a file's, which keeps pages that are no longer mapped. Other memory is never evicted. */
    public boolean isShared() {
        return file != null;
    }

    /** The memory file, shared with the VMM; null for memory that is never evicted. */
    @Nullable
    GuestFile file() {
        return file;
    }

    /** Whether the VMM may put pages that are not resident into the file itself. */
    public boolean isFilledByVmm() {
        return isFilledByVmm;
    }

    public Pins pins() {
        return pins;
    }

    public PagePool pool() {
        return pool;
    }

    public Homes homes() {
        return homes;
    }

    public WrittenHomes writtenHomes() {
        return writtenHomes;
    }

    public Staging staging() {
        return staging;
    }

    public Sealing sealing() {
        return sealing;
    }

    public Transfers transfers() {
        return transfers;
    }

    /** Any thread. */
    public PagerCounters counters() {
        return counters;
    }

    /** Any thread. */
    public Heat heat() {
        return heat;
    }

    public PagerOptions options() {
        return options;
    }

    /** Monotonic nanoseconds. */
    public LongSupplier clock() {
        return clock;
    }

    /** By which homes count as silent. The pager advances it. */
    public SilenceClock silence() {
        return silence;
    }
}
