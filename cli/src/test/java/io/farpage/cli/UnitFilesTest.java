package io.farpage.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.it.deadlines.Deadlines;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The systemd units and the man page among the files of the packages. {@code make test-packages} looks at the same in
 * the packages, and runs them.
 */
@Tag("portable")
class UnitFilesTest {
    private static final Path PACKAGES =
            Path.of(System.getProperty("farpage.root", "..")).resolve("packages");
    private static final Path TARGETS = Path.of("/lib/systemd/system");
    private static final Pattern STARTED = Pattern.compile("^Exec\\w+=[-+!@:]*(/\\S+)", Pattern.MULTILINE);

    /** A root directory with the units, an empty program for each that they start, and the targets of this host. */
    @TempDir
    private Path root;

    private Path units;

    @BeforeEach
    void install() throws IOException {
        units = Files.createDirectories(root.resolve("lib/systemd/system"));
        try (Stream<Path> files = Files.list(PACKAGES.resolve("systemd"))) {
            for (Path unit : files.toList()) {
                Files.copy(unit, units.resolve(unit.getFileName()));
                Matcher started = STARTED.matcher(Files.readString(unit));
                while (started.find()) {
                    program(root.resolve(started.group(1).substring(1)));
                }
            }
        }
    }

    private static void program(Path path) throws IOException {
        if (!Files.exists(path)) {
            Files.createDirectories(path.resolveSibling("."));
            Files.writeString(path, "#!/bin/sh\n");
            assertTrue(path.toFile().setExecutable(true), path::toString);
        }
    }

    @Test
    void shouldHaveUnitsInWhichSystemdFindsNoFault() throws Exception {
        needs("systemd-analyze", "systemd");
        try (Stream<Path> targets = Files.list(TARGETS)) {
            for (Path target :
                    targets.filter(file -> file.toString().endsWith(".target")).toList()) {
                Files.copy(target, units.resolve(target.getFileName()));
            }
        }
        List<String> command = new ArrayList<>(List.of("systemd-analyze", "verify", "--man=no", "--root=" + root));
        try (Stream<Path> files = Files.list(units)) {
            files.filter(file -> file.toString().endsWith(".service")).forEach(file -> command.add(file.toString()));
        }
        assertTrue(command.size() > 6, command::toString);
        assertEquals("", run(command));
    }

    /** The thresholds are tenths, as {@code systemd-analyze security} takes them: 0 is nothing exposed, and 100 all. */
    @ParameterizedTest
    @CsvSource({"coordinator, 20", "keeper, 20", "page-agent, 35", "page-agent-standby, 35", "hugepages, 25"})
    void shouldHaveUnitsThatExposeLittle(String name, int threshold) throws Exception {
        needs("systemd-analyze", "systemd");
        run(List.of(
                "systemd-analyze",
                "security",
                "--offline=true",
                "--root=" + root,
                "--threshold=" + threshold,
                "--no-pager",
                "farpage-" + name + ".service"));
    }

    @Test
    void shouldHaveAManPageOfTheSetUpWithoutAWarning() throws Exception {
        needs("mandoc", "mandoc");
        String page = PACKAGES.resolve("debian/farpage-setup.8").toString();
        assertEquals("", run(List.of("mandoc", "-T", "lint", "-W", "warning", page)));
    }

    private static void needs(String program, String debianPackage) {
        assumeTrue(
                Stream.of(System.getenv("PATH").split(":"))
                        .anyMatch(path -> Files.isExecutable(Path.of(path, program))),
                "%s is missing (apt-get install %s)".formatted(program, debianPackage));
    }

    private static String run(List<String> command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        Deadlines.exit("the end of the process", Deadlines.LONG, process);
        assertEquals(0, process.exitValue(), () -> command + ": " + said);
        return said;
    }
}
