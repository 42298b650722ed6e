package io.farpage.bench.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

final class PeersPlanTest {
    @TempDir
    private Path directory;

    private PeersPlan plan(String... arguments) {
        PeersOptions options = new PeersOptions();
        new CommandLine(options).setCaseInsensitiveEnumValuesAllowed(true).parseArgs(arguments);
        return PeersPlan.of(options, List.of(0, 1), directory.toString());
    }

    private void install(String program) throws Exception {
        assertTrue(Files.createFile(directory.resolve(program)).toFile().setExecutable(true));
    }

    @Test
    void shouldLeaveOutPeersWhoseProgramIsMissingAndNameThePackage() throws Exception {
        install("redis-server");
        PeersPlan plan = plan();
        assertTrue(
                plan.peers().containsAll(List.of(Peer.REDIS, Peer.FARPAGE)),
                plan.peers().toString());
        assertTrue(
                plan.skipped()
                        .containsAll(List.of(
                                "memcached: memcached is not on the PATH; install it with apt-get install memcached",
                                "nbdkit: nbdkit is not on the PATH; install it with apt-get install nbdkit")),
                plan.skipped().toString());
    }

    @Test
    void shouldRefuseAPeerThatIsAskedForAndMissing() {
        IllegalArgumentException refused =
                assertThrows(IllegalArgumentException.class, () -> plan("--peer", "farpage,nbdkit"));
        assertEquals(
                "--peer nbdkit: nbdkit is not on the PATH; install it with apt-get install nbdkit",
                refused.getMessage());
    }

    @Test
    void shouldRefuseToLeaveOutWhatAllAreComparedWith() {
        IllegalArgumentException refused =
                assertThrows(IllegalArgumentException.class, () -> plan("--peer", "farpage", "--no-baseline"));
        assertTrue(String.valueOf(refused.getMessage()).startsWith("--no-baseline: peers are compared"));
    }

    @Test
    void shouldMeasureEachPeerOnceWithTheRoundsOfAllIdleStrategies() throws Exception {
        install("memcached");
        PeersPlan plan = plan("--peer", "memcached,farpage,memcached", "--rounds", "7");
        assertEquals(List.of(Peer.MEMCACHED, Peer.FARPAGE), plan.peers());
        assertEquals(14, plan.allRounds());
        assertTrue(plan.expected().toSeconds() > 30, plan.expected()::toString);
    }
}
