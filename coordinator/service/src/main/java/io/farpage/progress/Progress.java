package io.farpage.progress;

import java.io.PrintStream;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;

/**
 * Tells how far a command is. {@link #finish} leaves a line that says what was done; {@link #close} without it, as
 * after an error, takes the line away, so that what is printed next stands alone. A thread redraws a bar twice a
 * second, so that the rate falls when nothing gets on, and writes a line every ten seconds where there is no bar.
 *
 * <p>Thread-safe. An output that fails is not told: what the command does matters more.
 */
public final class Progress implements AutoCloseable {
    private static final String CLEAR = "\r\u001b[K";
    private static final long BAR_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long LINES_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final long TICK_MILLIS = 500;
    private static final double HALF_A_SECOND = 0.5;

    private final Style style;
    private final Unit unit;
    private final PrintStream out;
    private final IntSupplier columns;
    private final LongSupplier clock;
    private final long start;
    private final Pace pace = new Pace();
    private String label;
    private OptionalLong total = OptionalLong.empty();
    private OptionalLong expectedSeconds = OptionalLong.empty();
    private long done;
    private long measured;
    private long measuredAt;
    private long nextAt;
    private boolean isDrawn;
    private boolean isClosed;

    /**
     * Shows nothing yet.
     *
     * @param columns of the terminal, asked for at each drawing, since its window may change
     * @param clock in nanoseconds
     */
    Progress(Style style, String label, Unit unit, PrintStream out, IntSupplier columns, LongSupplier clock) {
        this.style = style;
        this.label = label;
        this.unit = unit;
        this.out = out;
        this.columns = columns;
        this.clock = clock;
        start = clock.getAsLong();
        measuredAt = start;
        nextAt = start + (style == Style.BAR ? 0 : LINES_NANOS);
    }

    /** One that shows nothing. */
    public static Progress none() {
        return new Progress(Style.NONE, "", Unit.BYTES, System.err, () -> 0, () -> 0);
    }

    boolean isBar() {
        return style == Style.BAR;
    }

    /** Has a thread draw what is due until this is closed, which a signal that ends the JVM does as well. */
    Progress ticking() {
        if (style == Style.NONE) {
            return this;
        }
        Runtime.getRuntime().addShutdownHook(new Thread(this::close, "progress-end"));
        Thread.ofPlatform().daemon().name("progress").start(() -> {
            try {
                while (tick()) {
                    Thread.sleep(pauseMillis());
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        return this;
    }

    /** Says what goes on now. */
    public synchronized void label(String now) {
        label = now;
        nextAt = style == Style.BAR ? clock.getAsLong() : nextAt;
        draw();
    }

    /** Sets the whole amount of work. */
    public synchronized void total(long amount) {
        total = OptionalLong.of(amount);
        draw();
    }

    /**
     * Sets how long all of it takes, for work that comes in few and large pieces. What is left is then the rest of that
     * time, or the share that belongs to the work which is not done, if that is more.
     */
    public synchronized void expect(Duration whole) {
        expectedSeconds = OptionalLong.of(whole.toSeconds());
        draw();
    }

    /** Sets the amount that is done since the beginning. */
    public synchronized void done(long amount) {
        done = Math.max(0, amount);
        draw();
    }

    /** Says that so much more has been done. */
    public synchronized void advance(long amount) {
        done += amount;
        draw();
    }

    /** Prints something else, above the line. */
    public synchronized void interrupt(Runnable print) {
        clear();
        print.run();
        nextAt = style == Style.BAR ? clock.getAsLong() : nextAt;
        draw();
    }

    /** Redraws what the passing of time changes. Returns false once this is closed. */
    synchronized boolean tick() {
        draw();
        return !isClosed;
    }

    private synchronized long pauseMillis() {
        long due = TimeUnit.NANOSECONDS.toMillis(nextAt - clock.getAsLong());
        return style == Style.BAR ? TICK_MILLIS : Math.max(TICK_MILLIS, due);
    }

    /** All is done: leaves a line that says how much, and in what time. */
    public synchronized void finish() {
        if (style != Style.NONE && !isClosed) {
            double seconds = (clock.getAsLong() - start) / 1e9;
            clear();
            out.println("%s: %s in %s, %s"
                    .formatted(
                            label,
                            unit.amount(done),
                            Rendering.time((long) (seconds + HALF_A_SECOND)),
                            unit.rate(seconds > 0 ? done / seconds : 0)));
            out.flush();
        }
        isClosed = true;
    }

    /** Takes the line away, if there is one. */
    @Override
    public synchronized void close() {
        if (!isClosed) {
            clear();
        }
        isClosed = true;
    }

    private void clear() {
        if (isDrawn) {
            out.print(CLEAR);
            out.flush();
            isDrawn = false;
        }
    }

    private void draw() {
        long now = style == Style.NONE || isClosed ? 0 : clock.getAsLong();
        if (style == Style.NONE || isClosed || now - nextAt < 0) {
            return;
        }
        pace.add(Math.max(0, done - measured), now - measuredAt);
        measured = done;
        measuredAt = now;
        if (style == Style.BAR) {
            out.print(CLEAR + rendering().bar(columns.getAsInt()));
            isDrawn = true;
        } else {
            out.println(rendering().text());
        }
        out.flush();
        nextAt = now + (style == Style.BAR ? BAR_NANOS : LINES_NANOS);
    }

    private Rendering rendering() {
        Optional<Integer> percent = total.isPresent() ? Optional.of(percent(total.getAsLong())) : Optional.empty();
        String amount = total.isPresent() ? unit.of(done, total.getAsLong()) : unit.amount(done);
        long elapsed = TimeUnit.NANOSECONDS.toSeconds(clock.getAsLong() - start);
        OptionalLong left = left(elapsed);
        return new Rendering(
                label,
                percent,
                amount,
                unit.rate(pace.perSecond()),
                Rendering.time(elapsed),
                left.isPresent() ? Optional.of(Rendering.time(left.getAsLong())) : Optional.empty());
    }

    private OptionalLong left(long elapsed) {
        long rest = Math.max(0, total.orElse(0) - done);
        if (expectedSeconds.isPresent()) {
            long expected = expectedSeconds.getAsLong();
            long share = done == 0 ? 0 : expected * rest / Math.max(1, total.orElse(0));
            return OptionalLong.of(rest == 0 ? 0 : Math.max(Math.max(share, 0), expected - elapsed));
        }
        return total.isPresent() ? pace.secondsFor(rest) : OptionalLong.empty();
    }

    private int percent(long all) {
        return all <= 0 ? 100 : (int) Math.min(100, done * 100.0 / all);
    }
}
