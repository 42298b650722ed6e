package io.farpage.agent.control.keeper;

import java.io.IOException;
import java.nio.file.Path;

/** Another process of this node has the memory that the keeper keeps. */
final class KeeperBusyException extends IOException {
    private static final long serialVersionUID = 1L;

    KeeperBusyException(Path path, long pid) {
        super(("the keeper at %s has the memory of process %d, which runs; end that agent first, or give this node a"
                        + " keeper of its own")
                .formatted(path, pid));
    }
}
