package io.farpage.bench.fetch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.bench.baseline.RdmaPort;
import java.util.List;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

final class FetchPlanTest {
    private static FetchPlan plan(List<Integer> cpus, String... arguments) {
        FetchOptions options = new FetchOptions();
        new CommandLine(options).setCaseInsensitiveEnumValuesAllowed(true).parseArgs(arguments);
        return FetchPlan.of(options, cpus);
    }

    private static List<String> names(FetchPlan plan) {
        return plan.scenarios().stream().map(Scenario::name).toList();
    }

    @Test
    void shouldGiveBothSidesTheSamePlacementByDefault() {
        FetchPlan plan = plan(List.of(0, 1, 2));
        assertEquals(List.of("latency-spin", "latency-block", "throughput-spin"), names(plan));
        assertEquals(new Placement(0, 1), plan.scenarios().get(0).placement());
        assertEquals(new Placement(0, 0), plan.scenarios().get(1).placement());
        assertEquals(
                List.of(1, 1, 32),
                plan.scenarios().stream().map(Scenario::depth).toList());
        assertTrue(plan.rounds() >= 11);
    }

    @Test
    void shouldLeaveOutWhatNeedsASecondCpuAndSaySo() {
        FetchPlan plan = plan(List.of(3));
        assertEquals(List.of("latency-block"), names(plan));
        assertTrue(plan.skipped().getFirst().contains("--idle spin needs two CPUs"));
    }

    @Test
    void shouldRefuseToSpinOnOneCpuWhenAskedTo() {
        IllegalArgumentException refused =
                assertThrows(IllegalArgumentException.class, () -> plan(List.of(0), "--idle", "spin"));
        assertTrue(String.valueOf(refused.getMessage()).contains("use --idle block"), refused.getMessage());
    }

    @Test
    void shouldCompareAnEncryptedLinkWithAPlainOne() {
        FetchPlan plan = plan(List.of(0, 1), "--transport", "tcp", "--encryption", "on");
        assertEquals(BaselineKind.PLAIN, plan.baseline());
        assertEquals(
                List.of("latency-spin-encrypted", "latency-block-encrypted", "throughput-spin-encrypted"), names(plan));
        assertEquals("latency-spin", plan.scenarios().getFirst().plain().name());
        assertThrows(IllegalArgumentException.class, () -> plan(List.of(0, 1), "--baseline", "plain"));
        assertThrows(
                IllegalArgumentException.class,
                () -> plan(List.of(0, 1), "--transport", "rdma", "--no-baseline", "--encryption", "on"));
    }

    @Test
    void shouldCompareSealedPagesWithPlainOnesOverRdmaToo() {
        FetchPlan plan = plan(List.of(0, 1), "--transport", "rdma", "--device", "rxe0", "--sealed", "on");
        assertEquals(BaselineKind.PLAIN, plan.baseline());
        assertEquals(List.of("latency-spin-sealed", "latency-block-sealed", "throughput-spin-sealed"), names(plan));
        assertEquals(Sealing.OFF, plan.scenarios().getFirst().plain().sealing());
        assertEquals(
                BaselineKind.PERFTEST,
                plan(
                                List.of(0, 1),
                                "--transport",
                                "rdma",
                                "--device",
                                "rxe0",
                                "--sealed",
                                "on",
                                "--baseline",
                                "perftest")
                        .baseline());
    }

    @Test
    void shouldShareFetchesAmongRounds() {
        assertEquals(
                1000, plan(List.of(0, 1), "--count", "10000", "--rounds", "10").roundCount());
    }

    @Test
    void shouldCompareRdmaWithPerftestOnTheSameDevice() {
        FetchPlan plan = plan(List.of(0, 1), "--transport", "rdma", "--device", "rxe0", "--gid-index", "1");
        assertEquals(BaselineKind.PERFTEST, plan.baseline());
        assertEquals(new RdmaPort("rxe0", OptionalInt.of(1)), plan.rdma().orElseThrow());
        assertEquals(BaselineKind.C, plan(List.of(0, 1)).baseline());
        assertEquals(BaselineKind.NONE, plan(List.of(0, 1), "--no-baseline").baseline());
    }

    @ParameterizedTest
    @CsvSource({
        "--page-size=3000B, power of two",
        "--page-size=4MiB, power of two",
        "--pages=0, from 1",
        "--depth=5000, from 2 to 1024",
        "--zipf-exponent=0, from 0.01",
        "--rounds=0, from 1 to 1000",
        "--count=3, at least one for each of 11 rounds",
        "--duration=5ms, at least 1ms",
        "--cpus=9, may use",
        "--cpus=x, two different numbers",
        "--cpus=0-x, two different numbers",
        "--device=rxe0, is for --transport rdma",
        "--gid-index=1, add --device",
        "--baseline=perftest, add --transport rdma --device"
    })
    void shouldRefuseWhatIsOutOfRangeNamingOptionAndValue(String option, String allowed) {
        IllegalArgumentException refused =
                assertThrows(IllegalArgumentException.class, () -> plan(List.of(0, 1), option));
        String message = String.valueOf(refused.getMessage());
        assertTrue(message.startsWith(option.substring(0, option.indexOf('='))), message);
        assertTrue(message.contains(allowed), message);
    }
}
