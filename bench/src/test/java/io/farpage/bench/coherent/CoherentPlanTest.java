package io.farpage.bench.coherent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.bench.baseline.RdmaPort;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

final class CoherentPlanTest {
    private static CoherentPlan plan(int cpus, String... arguments) {
        CoherentOptions options = new CoherentOptions();
        new CommandLine(options).setCaseInsensitiveEnumValuesAllowed(true).parseArgs(arguments);
        return CoherentPlan.of(options, IntStream.range(0, cpus).boxed().toList());
    }

    @ParameterizedTest
    @CsvSource({
        "--count=255, --count 255: must be from 256 to 100000",
        "--count=100001, --count 100001",
        "--replicas=3, --replicas 3: must be 1 or 2",
        "--rounds=0, --rounds 0",
        "--warmup=2h, --warmup 7200s: must be at most 1h",
        "--transport=rdma, --transport rdma: a C program exchanges messages over the same device; add --device NAME",
        "--device=rxe0, '--device rxe0: is for --transport rdma, and the transport is auto'",
        "--gid-index=1, --gid-index 1: is of a device; add --device NAME",
        "--no-baseline, --no-baseline: faults are compared",
        "'--idle=block,spin', --idle: one way to wait is measured at a time",
        "--idle=spin, '--idle spin needs 13 CPUs, two for each of 6 agents and one for the faults, and has 12'",
        "--idle=adaptive, --idle adaptive needs 13 CPUs"
    })
    void shouldRefuseAnOptionAndNameItsValue(String option, String message) {
        IllegalArgumentException refused = assertThrows(IllegalArgumentException.class, () -> plan(12, option));
        assertTrue(String.valueOf(refused.getMessage()).startsWith(message), refused.getMessage());
    }

    @Test
    void shouldTakeTheDeviceOfAllAgents() {
        CoherentPlan plan = plan(2, "--transport=rdma", "--device=rxe0", "--gid-index=1");
        RdmaPort port = plan.rdma().orElseThrow();
        assertEquals(Map.of("rdma.device", "rxe0", "rdma.gid_index", "1"), port.settings());
        assertEquals(Optional.empty(), plan(2).rdma());
    }

    @Test
    void shouldSleepOnOneCpuButForTheSecondNodeOfASum() {
        CoherentPlan plan = plan(2);
        List<Integer> shards = IntStream.rangeClosed(0, CoherentPlan.NODES)
                .map(plan::shardCpu)
                .boxed()
                .toList();
        assertEquals(List.of(0, 0, 0, 0, 1, 0), shards);
        assertEquals(0, plan.faultingCpu());
        assertEquals(1, plan.otherCpu());
    }

    @Test
    void shouldSleepOnAnotherCpuAtHomesThatAreApart() {
        CoherentPlan plan = plan(2, "--apart");
        assertEquals(List.of(0, 0, 0, 0, 1, 1), shards(plan));
        assertEquals(1, plan.answererCpu());
    }

    private static List<Integer> shards(CoherentPlan plan) {
        return IntStream.rangeClosed(0, CoherentPlan.NODES)
                .map(plan::shardCpu)
                .boxed()
                .toList();
    }

    @Test
    void shouldSpinOnCpusOfTheirOwn() {
        CoherentPlan plan = plan(15, "--idle=spin", "--replicas=2");
        Set<Integer> cpus = new HashSet<>(Set.of(plan.faultingCpu()));
        for (int agent = 0; agent < CoherentPlan.NODES + 2; agent++) {
            assertTrue(cpus.add(plan.shardCpu(agent)), cpus::toString);
            assertTrue(cpus.add(plan.responderCpu(agent)), cpus::toString);
        }
    }

    @Test
    void shouldHaveRoomForAllSpacesAtEachHome() {
        CoherentPlan plan = plan(2, "--count=512");
        // 4 of faults, 1 of an exclusive space, 2 of private pages, 4 of a sum; 2 MiB each.
        long mebibytes = plan.homeBytes() >> 20;
        assertTrue(mebibytes >= 22 && mebibytes <= 22 + 2 * Memory.values().length, () -> mebibytes + " MiB");
        long one = plan.hugepages();
        assertTrue(plan(2, "--count=512", "--replicas=2").hugepages() >= one + mebibytes / 2);
    }
}
