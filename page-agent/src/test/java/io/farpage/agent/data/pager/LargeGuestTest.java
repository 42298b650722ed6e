package io.farpage.agent.data.pager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.evict.Evictor;
import io.farpage.agent.data.pager.evict.Flush;
import io.farpage.agent.data.pager.evict.PageOut;
import io.farpage.agent.data.pager.evict.WriteBack;
import io.farpage.agent.data.pager.fault.Arrivals;
import io.farpage.agent.data.pager.fault.Children;
import io.farpage.agent.data.pager.fault.Residency;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.memory.AddressSpace;
import io.farpage.agent.data.pager.memory.Heat;
import io.farpage.agent.data.pager.memory.Installer;
import io.farpage.agent.data.pager.page.PageTable;
import io.farpage.agent.data.pager.repair.Losses;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.IntSupplier;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A guest of 1 TiB with a simulated kernel: the cost of a duty cycle does not grow with the guest. */
@Tag("portable")
class LargeGuestTest {
    private static final int PAGE = 4096;
    private static final int PAGES = (int) ((1L << 40) / PAGE);
    /** Pages that one duty cycle may examine; each costs some nanoseconds. */
    private static final int MAX_EXAMINED = 80_000;

    private static final long CYCLE_NANOS = 100_000;

    private long now;

    @AutoClose
    private final PagerParts parts = new PagerParts(() -> now);

    @Test
    void shouldBoundEveryDutyCycleWhenVictimsAreFarApart() {
        PageTable table = new PageTable(PAGES, true);
        for (int page = 0; page < PAGES; page += 64) {
            PageStates.set(table, page, PageTable.CLEAN);
            table.set(page, PageTable.REFERENCED);
        }
        long resident = table.resident();
        AddressSpace memory = memory(table, map("a"));
        Evictor evictor = evictor(memory);
        int limit = (int) resident - 4096;
        runUntil(() -> memory.context().counters().evictions().get() > 4096, () -> {
            evictor.doWork(0, limit);
            return evictor.examined();
        });
        assertTrue(table.resident() <= limit);
        table.discard();
    }

    @Test
    void shouldBoundEveryDutyCycleWhenNothingCanBeEvicted() {
        PageTable table = new PageTable(PAGES, true);
        for (int page = 0; page < PAGES; page += 64) {
            PageStates.set(table, page, PageTable.DIRTY);
        }
        AddressSpace memory = memory(table, map("b", "c"));
        Evictor evictor = evictor(memory);
        int[] left = {2_000};
        runUntil(() -> left[0]-- == 0, () -> {
            evictor.doWork(0, 1 << 20);
            return evictor.examined();
        });
        assertEquals(0, memory.context().counters().evictions().get());
        assertFalse(evictor.isBusy(), "the shard spins although no home is up");
        table.discard();
    }

    @Test
    void shouldBoundEveryDutyCycleWhenHomeOfHalfTheGuestIsLost() {
        PageTable table = new PageTable(PAGES, true);
        for (int page = 0; page < PAGES; page += 64) {
            PageStates.set(table, page, PageTable.CLEAN);
        }
        int half = PAGES / 2;
        SpaceMap map = new SpaceMap(
                "large",
                1,
                PAGES,
                PAGE,
                List.of(
                        new SpaceMap.Extent(
                                0, half, "b", 1, 0, true, List.of(), 0, Optional.empty(), SpaceMap.Pull.NONE),
                        new SpaceMap.Extent(
                                half, half, "c", 1, 0, false, List.of(), 0, Optional.empty(), SpaceMap.Pull.NONE)),
                0);
        Losses losses = new Losses(memory(table, map).context(), table);
        runUntil(() -> table.stranded() == PAGES / 2 / 64, losses::doWork);
        assertEquals(PAGES / 2 / 64, table.count(PageTable.DIRTY));
        table.discard();
    }

    @Test
    void shouldBoundEveryDutyCycleOfEndingWhenGuestTouchedMuchMemory() {
        PageTable table = new PageTable(PAGES, true);
        PageStates.set(table, 0, PAGES / 64, PageTable.CLEAN);
        AddressSpace memory = memory(table, map("a"));
        Ending ending = new Ending(memory, new Flush(memory, writeBack(memory)));
        ending.begin("the VMM has ended");
        runUntil(() -> ending.result() != null, ending::doWork);
        PagerEnd end = Objects.requireNonNull(ending.result());
        assertTrue(end.saved());
        table.discard();
    }

    @Test
    void shouldKeepHeapSmallWhenGuestIsLarge() {
        long before = allocated();
        PageTable table = new PageTable(PAGES, true);
        Heat heat = new Heat(PAGES, () -> 0);
        for (int page = 0; page < PAGES; page += 512) {
            heat.add(page);
        }
        assertTrue(heat.report().size() <= Heat.MAX_BLOCKS);
        long took = allocated() - before;
        assertTrue(took < 1 << 20, took + " bytes of heap");
        assertEquals(PAGES, table.count(PageTable.REMOTE));
    }

    private static long allocated() {
        return ((com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean()).getCurrentThreadAllocatedBytes();
    }

    /** Runs duty cycles to the end and fails if one of them examines more pages than a duty cycle may. */
    private void runUntil(BooleanSupplier done, IntSupplier cycle) {
        while (!done.getAsBoolean()) {
            int examined = cycle.getAsInt();
            assertTrue(examined <= MAX_EXAMINED, examined + " pages in one duty cycle");
            now += CYCLE_NANOS;
        }
    }

    private static WriteBack writeBack(AddressSpace memory) {
        return new WriteBack(memory, new PagerParts.EmptyFile());
    }

    private static Evictor evictor(AddressSpace memory) {
        Installer installer = new Installer(memory, Installer.Sharers.NONE);
        Arrivals arrivals = new Arrivals(memory, installer);
        Residency residency = new Residency(memory, installer, arrivals, new Children(memory));
        return new Evictor(memory, new PageOut(memory, writeBack(memory), residency, arrivals.lost()), residency);
    }

    private AddressSpace memory(PageTable table, SpaceMap map) {
        return parts.memory(new RecordingKernel(), true, PagerParts.layout(PAGES, PAGE), table, map);
    }

    private static SpaceMap map(String... nodes) {
        return PagerParts.map(PAGES, PAGE, nodes);
    }
}
