package io.farpage.progress;

import io.farpage.linux.Terminal;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** {@code --progress} and {@code --no-progress} of commands that take long. */
public final class ProgressOption {
    private static final int STANDARD_ERROR = 2;
    private static final int USUAL_COLUMNS = 80;

    @Option(
            names = "--progress",
            description =
                    "Print progress on standard error also without a terminal: a line every 10 seconds. Commands that"
                            + " measure do so without being asked.")
    private boolean asked;

    @Option(
            names = "--no-progress",
            description = "Do not print progress. On a terminal, one line is redrawn in place otherwise.")
    private boolean refused;

    /**
     * The progress of this command on standard error.
     *
     * @param label what goes on
     */
    public Progress start(String label, Unit unit) {
        return open(label, unit, asked).ticking();
    }

    /**
     * As {@link #start}, so that as little as possible runs beside what is measured: a bar is drawn only at calls.
     * Without a terminal, a line is written every ten seconds without {@code --progress}.
     */
    public Progress startForMeasuring(String label, Unit unit) {
        Progress progress = open(label, unit, true);
        return progress.isBar() ? progress : progress.ticking();
    }

    private Progress open(String label, Unit unit, boolean isAsked) {
        if (refused) {
            return Progress.none();
        }
        Style style = Style.of(Terminal.columns(STANDARD_ERROR).isPresent(), isDumb(System.getenv("TERM")), isAsked);
        return new Progress(
                style,
                label,
                unit,
                System.err,
                () -> columns(Terminal.columns(STANDARD_ERROR), System.getenv("COLUMNS")),
                System::nanoTime);
    }

    static boolean isDumb(@Nullable String term) {
        return term == null || term.isEmpty() || "dumb".equals(term);
    }

    /** Width of the terminal, else COLUMNS of the environment, else 80. */
    static int columns(OptionalInt terminal, @Nullable String environment) {
        if (terminal.isPresent() && terminal.getAsInt() > 0) {
            return terminal.getAsInt();
        }
        boolean isNumber = environment != null && environment.matches("[1-9][0-9]{0,3}");
        return isNumber ? Integer.parseInt(environment) : USUAL_COLUMNS;
    }
}
