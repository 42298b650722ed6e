package io.farpage.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.LoggingEvent;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PrintableTest {
    private final LoggerContext context = new LoggerContext();

    @ParameterizedTest
    @CsvSource({
        "10, '\\n'",
        "13, '\\r'",
        "9, '\\t'",
        "0, '\\u0000'",
        "27, '\\u001b'",
        "127, '\\u007f'",
        "155, '\\u009b'",
        "8232, '\\u2028'",
        "8238, '\\u202e'",
        "8203, '\\u200b'"
    })
    void shouldEscapeWhatEndsALineOrMovesTheCursor(int character, String escape) {
        assertEquals("a" + escape + "b", Printable.of("a" + (char) character + "b"));
    }

    @Test
    void shouldLeavePrintableTextAsItIs() {
        String text = "space 'a': 12 µs, 東京, \ud83d\ude00, C:\\x";
        assertSame(text, Printable.of(text));
    }

    @Test
    void shouldCutTextThatIsTooLong() {
        assertEquals("ab…", Printable.of("abc", 2));
        assertEquals("abc", Printable.of("abc", 3));
    }

    @Test
    void shouldWriteAnEventAndItsCausesWithoutLinesOfTheirOwn() {
        RuntimeException cause = new IllegalStateException("inner\n2026 ERROR forged");
        RuntimeException thrown = new IllegalArgumentException("outer\n2026 ERROR forged", cause);
        thrown.addSuppressed(new IllegalStateException("suppressed\r2026 ERROR forged"));
        LoggingEvent event = new LoggingEvent(
                "x", context.getLogger("x"), Level.WARN, "said {}\n2026 ERROR forged", thrown, new Object[] {"\u001b["
                });
        EscapedThrowable trace = new EscapedThrowable();
        trace.setContext(context);
        trace.start();
        String text = new EscapedMessage().convert(event) + "\n" + trace.convert(event);
        assertTrue(text.lines().noneMatch(line -> line.startsWith("2026")), text);
        assertFalse(text.contains("\u001b") || text.contains("\r"), text);
        assertTrue(text.contains("Caused by: java.lang.IllegalStateException: inner\\n2026 ERROR forged"), text);
    }
}
