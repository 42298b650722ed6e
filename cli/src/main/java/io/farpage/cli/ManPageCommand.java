package io.farpage.cli;

import java.io.PrintWriter;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code farpage man-page PROGRAM}: for those that build packages. */
@Command(
        name = "man-page",
        hidden = true,
        description = "Prints the man page of a program, in mdoc. Its date is SOURCE_DATE_EPOCH, or now.",
        mixinStandardHelpOptions = true)
final class ManPageCommand implements Callable<Integer> {

    @Parameters(paramLabel = "PROGRAM", description = "farpage, coordinator, agent or bench.")
    private String program = "farpage";

    @Option(names = "--as", paramLabel = "NAME", description = "The name that the program is installed under.")
    private @Nullable String installed;

    @Spec
    private @Nullable CommandSpec spec;

    ManPageCommand() {}

    @Override
    public Integer call() {
        CommandLine all = Main.commandLine();
        CommandLine described = program.equals("farpage")
                ? all
                : Optional.ofNullable(all.getSubcommands().get(program))
                        .orElseThrow(() -> new ParameterException(
                                Objects.requireNonNull(spec).commandLine(),
                                "Invalid value '%s' for PROGRAM: it is farpage, coordinator, agent or bench"
                                        .formatted(program)));
        if (program.equals("farpage")) {
            // These have pages of their own.
            List.of("coordinator", "agent", "bench").stream()
                    .map(all.getSubcommands()::get)
                    .filter(Objects::nonNull)
                    .forEach(other -> other.getCommandSpec().usageMessage().hidden(true));
        }
        String date;
        try {
            date = date(Optional.ofNullable(System.getenv("SOURCE_DATE_EPOCH")));
        } catch (IllegalArgumentException e) {
            throw new ParameterException(Objects.requireNonNull(spec).commandLine(), String.valueOf(e.getMessage()), e);
        }
        PrintWriter out = Objects.requireNonNull(spec).commandLine().getOut();
        out.print(ManPage.of(described, Optional.ofNullable(installed).orElse(program), date));
        out.flush();
        return 0;
    }

    /**
     * The date of the page.
     *
     * @param epoch seconds since 1970, as packages are built with; empty for today
     */
    static String date(Optional<String> epoch) {
        Instant instant;
        try {
            instant = epoch.map(Long::parseLong).map(Instant::ofEpochSecond).orElseGet(Instant::now);
        } catch (NumberFormatException | DateTimeException e) {
            throw new IllegalArgumentException(
                    "SOURCE_DATE_EPOCH='%s' is not valid: it takes seconds since 1970".formatted(epoch.orElse("")), e);
        }
        return DateTimeFormatter.ofPattern("MMMM d, yyyy", Locale.ENGLISH)
                .withZone(ZoneOffset.UTC)
                .format(instant);
    }
}
