package io.farpage.bench.fetch;

import io.farpage.bench.process.Programs;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** Where this program lies. */
final class Installation {
    private Installation() {}

    /** The directory above the launchers, or the current one. */
    static Path root() {
        return Optional.ofNullable(System.getProperty(Programs.LAUNCHERS))
                .map(launchers -> Path.of(launchers).toAbsolutePath().getParent())
                .orElse(Path.of(""));
    }

    /** Beside what the build made in a working tree; elsewhere in the current directory. */
    static Path defaultReport() {
        Path bench = root().resolve("bench");
        return Files.exists(bench.resolve("pom.xml"))
                ? bench.resolve("target").resolve("report")
                : Path.of("farpage-report").toAbsolutePath();
    }
}
