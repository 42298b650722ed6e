package io.farpage.bench.baseline;

import io.farpage.bench.process.Child;
import io.farpage.bench.process.SpokenLines;
import io.farpage.guest.command.CommandException;
import java.io.IOException;
import java.time.Duration;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** A toucher that writes all its pages again and again, and checks what they hold, until it is closed. */
public final class StreamingToucher implements AutoCloseable {
    private static final Duration SLACK = Duration.ofSeconds(10);

    private final Child child;
    private final Duration timeout;
    private final SpokenLines lines;

    StreamingToucher(Child child, Duration timeout) {
        this.child = child;
        this.timeout = timeout;
        this.lines = new SpokenLines(child);
    }

    void awaitFirstPass() throws InterruptedException {
        lines.next(timeout);
    }

    /**
     * Ends it.
     *
     * @return pages that it has written
     * @throws CommandException if a page did not hold what it had written
     */
    public long end() throws InterruptedException {
        close(child);
        JsonNode result = JsonMapper.shared().readTree(lines.next(timeout));
        child.awaitEnd(SLACK);
        if (result.path("mismatches").asLong(1) != 0) {
            throw new CommandException("the stream found other content than it had written: " + result);
        }
        return result.path("touches").asLong();
    }

    private static void close(Child child) {
        try {
            child.process().outputWriter().close();
        } catch (IOException gone) {
            // It has ended already.
        }
    }

    /** Ends it, if it has not ended. */
    @Override
    public void close() {
        close(child);
        child.awaitEnd(SLACK);
    }
}
