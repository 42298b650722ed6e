package io.farpage.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.config.Version;
import io.farpage.it.harness.ChildJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.spi.ToolProvider;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("portable")
@Tag("processes")
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
    @ValueSource(strings = {"coordinator", "page-agent", "page-bench", "farpage"})
    void shouldRunFromAnyDirectoryAndThroughASymbolicLink(String program) throws Exception {
        Path link = Files.createSymbolicLink(
                elsewhere.resolve(program), ROOT.resolve("bin").resolve(program));
        try (ChildJvm child = ChildJvm.launch(program, List.of(link.toString(), "--version"), Map.of(), elsewhere)) {
            assertEquals(0, child.awaitEnd(), child.err());
            assertEquals(program + " " + Version.text(), child.out().strip());
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

    /** What the caches of classes are recorded of: a cluster that has started a clone. Its commands need the port. */
    @Test
    void shouldStartACloneToRecordTheClassesOfPrograms() throws Exception {
        String command = "exec '%s' train programs '%s' </dev/null".formatted(ROOT.resolve("bin/farpage"), elsewhere);
        try (ChildJvm child = ChildJvm.launch(
                "farpage", List.of("/bin/sh", "-c", command), Map.of("FARPAGE_AOT", "off"), elsewhere)) {
            assertEquals(0, child.awaitEnd(), child.err());
            assertTrue(Files.exists(elsewhere.resolve("coordinator.port")), child.err());
        }
    }

    /** In Turkish a number is 58,9, and the small letter of I is not i. */
    @ParameterizedTest
    @ValueSource(strings = {"coordinator", "page-agent", "page-bench", "farpage"})
    void shouldPrintTheSameInEveryLocale(String program) {
        List<String> command = List.of(ROOT.resolve("bin").resolve(program).toString(), "--help");
        Map<String, String> turkish = Map.of(
                "JAVA_TOOL_OPTIONS", "-Duser.language=tr -Duser.country=TR",
                "FARPAGE_JAVA_OPTS", "-XshowSettings:locale");
        try (ChildJvm child = ChildJvm.launch(program, command, turkish, elsewhere)) {
            assertEquals(0, child.awaitEnd(), child.err());
            String said = child.out() + child.err();
            assertTrue(said.contains("default locale = English (United States)"), said);
            assertTrue(said.contains("default format locale = English (United States)"), said);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "commands, farpage status, io.farpage.coordinator.command.StatusCommand",
        "commands, farpage status, picocli.CommandLine",
        "commands, coordinator nodes, io.farpage.coordinator.command.NodesCommand",
        "commands, farpage up --help, io.farpage.cli.local.UpCommand",
        "programs, coordinator run --set=store.directory=/dev/null/none, io.farpage.coordinator.command.RunCommand",
        "programs, page-agent run --set=node.id=~, io.farpage.agent.command.RunCommand"
    })
    void shouldLoadClassesFromTheCacheOfItsKind(String kind, String call, String expected) throws Exception {
        Path cache = ROOT.resolve("target/farpage/" + kind + ".aot");
        assumeTrue(Files.exists(cache), cache + " does not exist; make build makes it and says why if it cannot");
        Path log = elsewhere.resolve("loaded");
        List<String> command = new ArrayList<>(List.of(call.split(" ")));
        command.set(0, ROOT.resolve("bin").resolve(command.getFirst()).toString());
        Map<String, String> environment = Map.of(
                "FARPAGE_JAVA_OPTS", "-Xlog:class+load:file=" + log, "FARPAGE_COORDINATOR_URL", "http://127.0.0.1:1");
        try (ChildJvm child = ChildJvm.launch(kind, command, environment, elsewhere)) {
            child.awaitEnd();
        }
        List<String> loaded = Files.readAllLines(log);
        assertTrue(
                loaded.stream().anyMatch(line -> line.contains(expected + " source: shared objects file")),
                () -> expected + " was not loaded from " + cache + ": "
                        + loaded.stream()
                                .filter(line -> line.contains(expected))
                                .toList());
    }

    /** Each takes longer to load than the rest of a command. */
    @Test
    void shouldLoadNeitherTlsNorXmlNorTheLogForAStatusOverPlainHttp() throws Exception {
        Path log = elsewhere.resolve("loaded");
        Map<String, String> environment = Map.of(
                "FARPAGE_AOT", "off",
                "FARPAGE_JAVA_OPTS", "-Xlog:class+load:file=" + log,
                "FARPAGE_COORDINATOR_URL", "http://127.0.0.1:1");
        List<String> command = List.of(ROOT.resolve("bin/farpage").toString(), "status");
        try (ChildJvm child = ChildJvm.launch("status", command, environment, elsewhere)) {
            assertEquals(1, child.awaitEnd(), child.err());
            assertTrue(child.err().contains("nothing listens there"), child.err());
        }
        List<String> loaded = Files.readAllLines(log);
        assertTrue(loaded.stream().anyMatch(line -> line.contains("java.net.http.HttpClient ")), "the log of classes");
        for (String needless : List.of(
                "sun.security.ssl.SSLContextImpl ",
                "com.sun.org.apache.xerces",
                "org.eclipse.jetty",
                "ch.qos.logback.core.ConsoleAppender ")) {
            assertEquals(
                    List.of(),
                    loaded.stream().filter(line -> line.contains(needless)).toList());
        }
    }

    /** The JVM itself goes on with the classes of a cache when the jar that they came from has changed. */
    @Test
    void shouldRunTheClassesOfANewBuildWhenTheCacheIsOfAnOlderOne() throws Exception {
        Path bin = Files.createDirectories(elsewhere.resolve("tree/bin"));
        for (String file : List.of("launch", "java-home", "java-flags")) {
            Files.copy(ROOT.resolve("bin").resolve(file), bin.resolve(file), StandardCopyOption.COPY_ATTRIBUTES);
        }
        Path hello = Files.writeString(
                bin.resolve("hello"),
                "#!/usr/bin/env bash\n. \"$(dirname \"$0\")/launch\"\nlaunch hello Hello \"$@\"\n",
                StandardOpenOption.CREATE_NEW);
        Files.setPosixFilePermissions(hello, PosixFilePermissions.fromString("rwxr-xr-x"));
        Path lib = Files.createDirectories(elsewhere.resolve("tree/target/farpage/lib"));
        Path cache = elsewhere.resolve("tree/target/farpage/commands.aot");
        build("old", lib.resolve("hello.jar"));
        assertEquals("old", run(hello, Map.of("FARPAGE_AOT_OUTPUT", cache.toString())));
        assertTrue(Files.isRegularFile(cache), "no cache was recorded");
        assertEquals("old", run(hello, Map.of()));
        build("new", lib.resolve("hello.jar"));
        assertEquals("new", run(hello, Map.of()));
    }

    private void build(String text, Path jar) throws IOException {
        Path source = Files.writeString(
                elsewhere.resolve("Hello.java"),
                "class Hello { public static void main(String[] a) { System.out.println(\"" + text + "\"); } }");
        assertEquals(
                0,
                ToolProvider.findFirst("javac").orElseThrow().run(System.out, System.err, source.toString()),
                "javac");
        assertEquals(
                0,
                ToolProvider.findFirst("jar")
                        .orElseThrow()
                        .run(
                                System.out,
                                System.err,
                                "--create",
                                "--file=" + jar,
                                "-C",
                                elsewhere.toString(),
                                "Hello.class"),
                "jar");
    }

    /** Its first line; a JVM that records a cache says more. */
    private String run(Path program, Map<String, String> environment) {
        try (ChildJvm child = ChildJvm.launch("hello", List.of(program.toString()), environment, elsewhere)) {
            assertEquals(0, child.awaitEnd(), child.err());
            return child.out().lines().findFirst().orElse("");
        }
    }
}
