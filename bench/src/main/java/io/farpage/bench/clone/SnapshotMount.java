package io.farpage.bench.clone;

import io.farpage.bench.cluster.AgentFlags;
import io.farpage.bench.cluster.AgentProcess;
import io.farpage.bench.process.Child;
import io.farpage.bench.process.Children;
import io.farpage.bench.process.SpokenLines;
import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.PosixException;
import io.farpage.linux.fuse.FuseMounts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** The process that shows the snapshots as files on the host of the clones. Used by one thread. */
record SnapshotMount(Child child, Path directory) implements AutoCloseable {
    private static final String SERVED = "snapshots are files";

    /** Why this process may not mount snapshots; empty if it may. */
    static Optional<String> obstacle() {
        try {
            Path directory = Files.createTempDirectory("farpage-bench-mount");
            try {
                int fuse = FuseMounts.mount("farpage-bench", directory);
                var _ = FuseMounts.unmount(directory);
                FileIo.close(Errno.create(), fuse);
                return Optional.empty();
            } finally {
                Files.delete(directory);
            }
        } catch (PosixException | IOException e) {
            return Optional.of(e.getMessage() + "; run it as root, on a kernel with the module fuse");
        }
    }

    /** Mounts them, and waits until the agent serves the files. */
    static SnapshotMount start(Children children, AgentProcess agent, int readahead) throws InterruptedException {
        Path directory = children.scratch().resolve("snapshots");
        children.mounted(directory);
        Child child = children.start(
                "mount",
                "page-agent",
                List.of(
                        "mount",
                        "--directory",
                        directory.toString(),
                        "--readahead",
                        Integer.toString(readahead),
                        "--set",
                        "node.id=" + AgentFlags.NODE,
                        "--set",
                        "api.socket=" + agent.apiSocket()),
                true);
        SpokenLines lines = new SpokenLines(child);
        String line = lines.next(child.startTimeout());
        while (!line.contains(SERVED)) {
            line = lines.next(child.startTimeout());
        }
        return new SnapshotMount(child, directory);
    }

    /** The file of a snapshot. */
    Path file(Snapshot snapshot) {
        return directory.resolve(snapshot.name());
    }

    /** Ends the process, which unmounts the files. */
    @Override
    public void close() {
        child.close();
    }
}
