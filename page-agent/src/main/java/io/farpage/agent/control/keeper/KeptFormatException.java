package io.farpage.agent.control.keeper;

import java.io.IOException;
import java.nio.file.Path;

/** An agent of a later version has left what this version cannot read. */
final class KeptFormatException extends IOException {
    private static final long serialVersionUID = 1L;

    KeptFormatException(Path path, long format, long known) {
        super(("what the keeper at %s keeps has format %d, and this version of page-agent reads formats up to %d;"
                        + " nothing has been touched; start the version that wrote it, or a later one")
                .formatted(path, format, known));
    }
}
