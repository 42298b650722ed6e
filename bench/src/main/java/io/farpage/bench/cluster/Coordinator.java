package io.farpage.bench.cluster;

import io.farpage.bench.process.Child;
import io.farpage.bench.process.Children;
import java.nio.file.Path;
import java.util.List;

/** The coordinator of the benchmark's cluster, a process of its own. */
public record Coordinator(Child child, String url) implements AutoCloseable {
    public static Coordinator start(Children children) throws InterruptedException {
        return start(children, "coordinator");
    }

    /** As {@link #start(Children)}; {@code name} is for messages, its log and its files. */
    public static Coordinator start(Children children, String name) throws InterruptedException {
        Path portFile = children.scratch().resolve(name + ".port");
        // Nodes are stopped during the rounds of the baseline, however long those are: their leases must not end
        // meanwhile.
        Child child = children.start(
                name,
                "coordinator",
                List.of(
                        "run",
                        "--port-file",
                        portFile.toString(),
                        "--set",
                        "server.listen=127.0.0.1:0",
                        "--set",
                        "store.directory=" + children.scratch().resolve(name),
                        "--set",
                        "lease.duration=1h"),
                false);
        return new Coordinator(child, "http://127.0.0.1:" + child.awaitFile(portFile));
    }

    @Override
    public void close() {
        child.close();
    }
}
