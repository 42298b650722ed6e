package io.farpage.bench.clone;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.bench.cluster.FaultPlacement;
import io.farpage.bench.cluster.Idle;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

final class ClonePlanTest {
    private static final long MIB = 1 << 20;

    private static ClonePlan plan(List<Integer> cpus, Optional<String> noMounts, String... arguments) {
        CloneOptions options = new CloneOptions();
        new CommandLine(options).setCaseInsensitiveEnumValuesAllowed(true).parseArgs(arguments);
        return ClonePlan.of(options, cpus, noMounts);
    }

    private static ClonePlan plan(String... arguments) {
        return plan(List.of(0, 1), Optional.empty(), arguments);
    }

    @ParameterizedTest
    @CsvSource({
        "--memory=1MiB, --memory 1048576: must be a multiple of 2MiB from 2MiB to 16GiB",
        "--memory=17GiB, --memory 18253611008",
        "--large=256MiB, --large 268435456: must be a multiple of 2MiB from 2MiB more than --memory to 64GiB",
        "--large=65GiB, --large 69793218560",
        "--clones=4, --clones 4: must be from one for each of 5 rounds to 1000",
        "--touches=65537, --touches 65537: must be from 16 to the 65536 pages of --memory",
        "--touches=15, --touches 15",
        "--sharers=0, --sharers 0",
        "--readahead=1025, --readahead 1025: must be from 0 to 1024",
        "--rounds=0, --rounds 0",
        "'--idle=block,spin', --idle: one way to wait is measured at a time"
    })
    void shouldRefuseAnOptionAndNameItsValue(String option, String message) {
        IllegalArgumentException refused = assertThrows(IllegalArgumentException.class, () -> plan(option));
        assertTrue(String.valueOf(refused.getMessage()).startsWith(message), refused.getMessage());
    }

    @Test
    void shouldStartAllClonesInTheRoundsTogether() {
        ClonePlan plan = plan("--clones=11", "--rounds=4");
        List<Integer> starts = IntStream.range(0, 4).map(plan::clonesOf).boxed().toList();
        assertEquals(11, starts.stream().mapToInt(Integer::intValue).sum());
        assertTrue(starts.stream().allMatch(count -> count == 2 || count == 3), starts.toString());
    }

    @Test
    void shouldTakeRoomForWhatIsWrittenOfTheLargeSnapshot() {
        long bytes = plan("--memory=256MiB", "--large=4GiB").homeBytes();
        assertTrue(bytes >= 512 * MIB, () -> bytes / MIB + " MiB");
        assertTrue(bytes < 700 * MIB, () -> bytes / MIB + " MiB");
    }

    @Test
    void shouldLeaveMountedFilesOutAndSayWhy() {
        ClonePlan plan = plan(List.of(0), Optional.of("open(/dev/fuse): ENOENT"), "--rounds=2", "--clones=2");
        assertFalse(plan.mounts());
        assertEquals(List.of("runs with the file of a mounted snapshot: open(/dev/fuse): ENOENT"), plan.skipped());
        assertEquals(3 * 2, plan.allRounds());
        assertEquals(6 * 2 + 1, plan("--rounds=2", "--clones=2").allRounds());
    }

    @Test
    void shouldSpinOnlyWhereEachProcessHasACpu() {
        assertEquals(Idle.BLOCK, plan().idle());
        assertEquals(new FaultPlacement(0, 0, 0), plan().placement());
        ClonePlan spinning = plan(List.of(0, 1, 2, 3), Optional.empty());
        assertEquals(Idle.SPIN, spinning.idle());
        assertEquals(new FaultPlacement(0, 1, 2), spinning.placement());
    }
}
