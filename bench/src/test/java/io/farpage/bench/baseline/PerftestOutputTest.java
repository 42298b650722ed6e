package io.farpage.bench.baseline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.bench.report.FetchRound;
import io.farpage.bench.report.Rate;
import org.junit.jupiter.api.Test;

/** The samples are what perftest 4.5 printed on rxe. */
final class PerftestOutputTest {
    private static final String HEAD = """
            ---------------------------------------------------------------------------------------
                                RDMA_Read Latency Test
             Dual-port       : OFF		Device         : rxe0
             Outstand reads  : 1
             local address: LID 0000 QPN 0x0011 PSN 0xf48e7e
             GID: 00:00:00:00:00:00:00:00:00:00:255:255:127:00:00:01
            ---------------------------------------------------------------------------------------
            """;

    @Test
    void shouldRecordEveryLatencyThatPerftestPrints() {
        FetchRound round = PerftestOutput.latencies(HEAD
                + " #bytes #iterations    t_min[usec]    t_typical[usec]\n"
                + "#, usec\n1, 45.250000\n2, 51\n3, 8924.490000\n"
                + " 4096    3          45.25          8924.49      51.00\n");
        assertEquals(3, round.latencies().getTotalCount());
        assertEquals(45_250, (double) round.latencies().getMinValue(), 50);
        assertEquals(9_020_740, round.elapsed().toNanos());
    }

    @Test
    void shouldReadTheRateOfTheLastRow() {
        Rate rate = PerftestOutput.rate(
                HEAD + " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
                        + " 4096       10000            102.72             36.04  \t\t   0.009225\n---\n",
                4096);
        assertEquals(new Rate(10_000, 9225), rate);
    }

    @Test
    void shouldQuoteTheOutputWhenItHoldsNoFigures() {
        String said = "Failed to modify QP 17 to RTR";
        assertTrue(assertThrows(BaselineException.class, () -> PerftestOutput.latencies(said))
                .toString()
                .contains(said));
        assertTrue(assertThrows(BaselineException.class, () -> PerftestOutput.rate(said, 4096))
                .toString()
                .contains(said));
    }
}
