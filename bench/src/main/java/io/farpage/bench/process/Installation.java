package io.farpage.bench.process;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** Where this program lies. */
public final class Installation {
    private Installation() {}

    /** The directory above the launchers, or the current one. */
    public static Path root() {
        return Optional.ofNullable(System.getProperty(Programs.LAUNCHERS))
                .map(launchers -> Path.of(launchers).toAbsolutePath().getParent())
                .orElse(Path.of(""));
    }

    /** Beside what the build made in a working tree; elsewhere in the current directory. */
    public static Path defaultReport() {
        Path bench = root().resolve("bench");
        return Files.exists(bench.resolve("pom.xml"))
                ? bench.resolve("target").resolve("report")
                : Path.of("farpage-report").toAbsolutePath();
    }
}
