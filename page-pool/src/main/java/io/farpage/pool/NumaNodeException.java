package io.farpage.pool;

import io.farpage.linux.SystemCall;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The pool cannot be bound to the configured NUMA node. */
public final class NumaNodeException extends PoolException {
    private static final long serialVersionUID = 1L;

    private NumaNodeException(String problem, String fix) {
        super(problem, fix);
    }

    static NumaNodeException of(int node, SystemCall bound) {
        String online = nodesWithMemory();
        return new NumaNodeException(
                "the pool cannot be bound to NUMA node %d: mbind: %s; nodes with memory: %s"
                        .formatted(node, bound.error(), online),
                "configure one of " + online + ", or none");
    }

    private static String nodesWithMemory() {
        try {
            return Files.readString(Path.of("/sys/devices/system/node/has_memory"))
                    .strip();
        } catch (IOException e) {
            return "unknown";
        }
    }
}
