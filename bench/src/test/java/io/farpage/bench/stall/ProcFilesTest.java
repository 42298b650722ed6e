package io.farpage.bench.stall;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.bench.report.Scheduling;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

final class ProcFilesTest {
    private static final String STATUS = """
            Name:\tshard-0
            Cpus_allowed:\t1
            Cpus_allowed_list:\t%s
            voluntary_ctxt_switches:\t32
            nonvoluntary_ctxt_switches:\t1234
            """;

    @Test
    void shouldReadTheTotalOfThreadsThatWaited() {
        String pressure = """
                some avg10=0.87 avg60=1.45 avg300=8.85 total=6148498993
                full avg10=0.00 avg60=0.00 avg300=0.00 total=7
                """;
        assertEquals(OptionalLong.of(6_148_498_993L), ProcFiles.some(pressure));
        assertEquals(OptionalLong.empty(), ProcFiles.some(""));
    }

    @Test
    void shouldCountOnlyThreadsThatAreBoundToOneCpu() {
        assertEquals(OptionalLong.of(1234), ProcFiles.preemptions(STATUS.formatted("3")));
        assertEquals(OptionalLong.empty(), ProcFiles.preemptions(STATUS.formatted("0-3")));
        assertEquals(OptionalLong.empty(), ProcFiles.preemptions(STATUS.formatted("0,2")));
        assertEquals(OptionalLong.empty(), ProcFiles.preemptions(""));
    }

    @Test
    void shouldTakeTheSecondNumberAsTimeOnRunQueues() {
        assertEquals(424_269, ProcFiles.waitedNs("5100 424269 1\n"));
        assertEquals(0, ProcFiles.waitedNs(""));
    }

    @Test
    void shouldAddWhatEndedProgramsReport() throws InterruptedException {
        CpuWatch.Watched watched = CpuWatch.ofThisMachine().begin(List.of());
        Thread.sleep(1);
        Contention contention = watched.end(new Scheduling(1000, 1_000_000_000));
        assertTrue(contention.preemptions() > 0 && contention.preemptions() <= 1_000_000, contention.toString());
        assertTrue(contention.waited().orElse(1) > 0, contention.toString());
    }
}
