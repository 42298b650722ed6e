package io.farpage.trace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Against the examples and rules of W3C Trace Context. */
class TraceContextTest {
    private static final String EXAMPLE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    @Test
    void shouldReadAndWriteTheExampleOfTheSpecification() {
        TraceContext context = TraceContext.parse(EXAMPLE).orElseThrow();
        assertEquals(0x4bf92f3577b34da6L, context.high());
        assertEquals(0xa3ce929d0e0e4736L, context.low());
        assertEquals(0x00f067aa0ba902b7L, context.span());
        assertTrue(context.sampled());
        assertEquals(EXAMPLE, context.header());
    }

    @Test
    void shouldTakeALaterVersionWithMoreFields() {
        assertEquals(
                TraceContext.parse(EXAMPLE),
                TraceContext.parse("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-follows"));
    }

    @Test
    void shouldPassOverWhatIsNotValid() {
        for (String header : List.of(
                "",
                "00",
                "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
                "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
                "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
                "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\n")) {
            assertEquals(Optional.empty(), TraceContext.parse(header), header);
        }
    }

    @Test
    void shouldKeepTheTraceInAChild() {
        TraceContext root = TraceContext.root();
        TraceContext child = root.child();
        assertEquals(root.high(), child.high());
        assertEquals(root.low(), child.low());
        assertNotEquals(root.span(), child.span());
        assertEquals(Optional.of(root), TraceContext.parse(root.header()));
    }
}
