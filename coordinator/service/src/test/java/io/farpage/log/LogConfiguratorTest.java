package io.farpage.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.Configurator;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.ServiceLoader;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.slf4j.helpers.NOPMDCAdapter;

/** What standard error has of entries, with the configuration that all programs begin with. */
@Tag("portable")
class LogConfiguratorTest {

    private static List<String> logged(Consumer<LoggerContext> entries) {
        PrintStream before = System.err;
        ByteArrayOutputStream written = new ByteArrayOutputStream();
        LoggerContext context = new LoggerContext();
        context.setMDCAdapter(new NOPMDCAdapter());
        System.setErr(new PrintStream(written, true, StandardCharsets.UTF_8));
        try {
            new LogConfigurator().configure(context);
            entries.accept(context);
        } finally {
            context.stop();
            System.setErr(before);
        }
        return written.toString(StandardCharsets.UTF_8).lines().toList();
    }

    @Test
    void shouldBeFoundByLogback() {
        assertInstanceOf(
                LogConfigurator.class,
                ServiceLoader.load(Configurator.class).findFirst().orElseThrow());
    }

    @Test
    void shouldWriteTextOfOtherProcessesOnOneLine() {
        List<String> lines = logged(
                context -> context.getLogger("io.farpage.Some").warn("a\n2026-01-01T00:00:00.000Z INFO  Forged - b"));
        assertEquals(1, lines.size(), lines::toString);
        assertTrue(
                lines.getFirst().matches("\\d{4}-\\d\\d-\\d\\dT[\\d:.]+(Z|[+-][\\d:]+) WARN  Some - a.*"),
                lines::toString);
    }

    @Test
    void shouldWriteTheMessageOfAnExceptionOnOneLine() {
        List<String> lines =
                logged(context -> context.getLogger("io.farpage.Some").error("failed", new IOException("a\nForged")));
        assertTrue(lines.get(1).startsWith("java.io.IOException: a"), lines::toString);
        assertTrue(lines.stream().noneMatch(line -> line.startsWith("Forged")), lines::toString);
    }

    @Test
    void shouldKeepLibrariesQuiet() {
        List<String> lines = logged(context -> {
            context.getLogger("io.farpage.Some").debug("no");
            context.getLogger("org.eclipse.jetty.Some").info("no");
            context.getLogger("io.javalin.Some").error("no");
            context.getLogger("org.eclipse.jetty.Some").warn("yes");
            context.getLogger("io.farpage.Some").info("yes");
        });
        assertEquals(2, lines.size(), lines::toString);
    }
}
