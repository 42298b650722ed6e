package io.farpage.bench.baseline;

import io.farpage.bench.process.Child;
import io.farpage.bench.process.SpokenLines;
import io.farpage.guest.command.CommandException;
import java.io.IOException;
import java.io.Writer;
import java.time.Duration;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** A {@link FaultToucher} that touches its memory when it is told to, and may live on then. Used by one thread. */
public final class HeldToucher implements AutoCloseable {
    private static final Duration SLACK = Duration.ofSeconds(10);

    private final Child child;
    private final Duration timeout;
    private final Writer orders;
    private final SpokenLines lines;

    /**
     * What it has measured.
     *
     * @param measured all touches
     * @param first from before the memory was mapped until the first touch was over
     */
    public record Touched(BaselineProcess.Measured measured, Duration first) {}

    HeldToucher(Child child, Duration timeout) {
        this.child = child;
        this.timeout = timeout.plus(SLACK);
        this.orders = child.process().outputWriter();
        this.lines = new SpokenLines(child);
    }

    /** Its process id. */
    public long pid() {
        return child.process().pid();
    }

    /** Makes it map its memory and touch the pages. */
    public void go() {
        order();
    }

    private void order() {
        try {
            orders.write("\n");
            orders.flush();
        } catch (IOException gone) {
            throw new CommandException(child.lastWords(), gone);
        }
    }

    /** Waits until it has written its pages, if it was started to fill them. */
    public void awaitFilled() throws InterruptedException {
        lines.next(timeout);
    }

    /** Waits until it has touched all pages. */
    public Touched touched() throws InterruptedException {
        String line = lines.next(timeout);
        return new Touched(RoundJson.parse(line), Duration.ofNanos(number(line, "firstNs")));
    }

    /** How many pages of its file are in the page cache. */
    public long cachedPages() throws InterruptedException {
        order();
        return number(lines.next(timeout), "cachedPages");
    }

    private static long number(String line, String name) {
        JsonNode number = JsonMapper.shared().readTree(line).path(name);
        if (!number.isNumber()) {
            throw new BaselineException("the toucher gives no " + name + ": " + line);
        }
        return number.asLong();
    }

    /** Ends it, and waits for that. */
    @Override
    public void close() {
        try {
            orders.close();
        } catch (IOException gone) {
            // It has ended already.
        }
        child.awaitEnd(SLACK);
    }
}
