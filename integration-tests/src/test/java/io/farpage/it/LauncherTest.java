package io.farpage.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.it.harness.ChildJvm;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LauncherTest {
    private static final Path ROOT =
            Path.of(System.getProperty("farpage.root", "..")).toAbsolutePath();

    @TempDir
    Path elsewhere;

    @BeforeEach
    void isAssembled() {
        Path lib = ROOT.resolve("target/farpage/lib");
        assumeTrue(Files.isDirectory(lib), lib + " does not exist; make build assembles it");
    }

    @ParameterizedTest
    @ValueSource(strings = {"coordinator", "page-agent", "page-bench"})
    void shouldRunFromAnyDirectoryAndThroughASymbolicLink(String program) throws Exception {
        Path link = Files.createSymbolicLink(
                elsewhere.resolve(program), ROOT.resolve("bin").resolve(program));
        try (ChildJvm child = ChildJvm.launch(program, List.of(link.toString(), "--version"), Map.of(), elsewhere)) {
            assertEquals(0, child.awaitEnd(), child.err());
            assertTrue(child.out().startsWith(program), child.out());
            assertEquals("", child.err());
        }
    }

    @Test
    void shouldPassOnArgumentsAndExitCodes() {
        String program = ROOT.resolve("bin/page-agent").toString();
        try (ChildJvm child = ChildJvm.launch(
                "page-agent", List.of(program, "run", "--set", "node.id=NOT OK"), Map.of(), elsewhere)) {
            assertEquals(1, child.awaitEnd(), child.err());
            assertTrue(child.err().contains("'NOT OK'"), child.err());
        }
    }
}
