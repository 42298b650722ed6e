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
            description = "Print progress on standard error; without a terminal, print a line every 5 seconds.")
    private boolean asked;

    @Option(
            names = "--no-progress",
            description = "Do not print progress on a terminal, where one line is redrawn in place otherwise.")
    private boolean refused;

    /**
     * The progress of this command on standard error.
     *
     * @param label what goes on
     */
    public Progress start(String label, Unit unit) {
        return open(label, unit).ticking();
    }

    /**
     * As {@link #start}, but nothing is drawn of itself between two calls, so that nothing runs beside what is
     * measured.
     */
    public Progress startForMeasuring(String label, Unit unit) {
        return open(label, unit);
    }

    private Progress open(String label, Unit unit) {
        if (refused) {
            return Progress.none();
        }
        Style style = Style.of(Terminal.columns(STANDARD_ERROR).isPresent(), isDumb(System.getenv("TERM")), asked);
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
