package io.farpage.bench.clone;

import io.farpage.bench.baseline.FaultToucher;
import io.farpage.bench.cluster.AgentPair;
import java.nio.file.Path;

/**
 * A file that processes map.
 *
 * @param name of the run, or of the baseline
 * @param path local, or of a snapshot that is mounted
 * @param isLocal whether the agents have nothing to do with it, and are off the CPU while it is used
 * @param isCold whether its pages are dropped from the page cache before each round
 */
record MappedFile(String name, Path path, boolean isLocal, boolean isCold) {
    /** In the page cache of this host. */
    static MappedFile local(Snapshot snapshot) {
        return new MappedFile("local-file", snapshot.image(), true, false);
    }

    FaultToucher.Mapped memory() {
        return new FaultToucher.Mapped(path, isCold);
    }

    <T> T use(CloneAgents agents, AgentPair.Paused<T> work) throws InterruptedException {
        return isLocal ? agents.whilePaused(work) : work.run();
    }
}
