package io.farpage.cli;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import picocli.CommandLine;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

/** The man page of a program with all its commands, in mdoc(7), from the same tables that print the help. */
final class ManPage {
    private final StringBuilder page = new StringBuilder();
    private final String name;

    private ManPage(String name) {
        this.name = name;
    }

    /**
     * The page.
     *
     * @param name under which the program is installed
     * @param date of the page, such as {@code November 24, 2026}
     */
    static String of(CommandLine program, String name, String date) {
        return new ManPage(name).render(program, date);
    }

    private String render(CommandLine program, String date) {
        CommandSpec spec = program.getCommandSpec();
        List<String> description = sentences(spec);
        macro("Dd " + date);
        macro("Dt " + name.toUpperCase(Locale.ROOT) + " 1");
        macro("Os farpage");
        macro("Sh NAME");
        macro("Nm " + name);
        macro("Nd " + escape(first(description)));
        macro("Sh SYNOPSIS");
        macro("Nm");
        macro("Op Ar options");
        if (!commands(program).isEmpty()) {
            macro("Op Ar command Op Ar options");
        }
        macro("Sh DESCRIPTION");
        description.forEach(this::text);
        arguments(spec);
        if (!commands(program).isEmpty()) {
            macro("Sh COMMANDS");
            commands(program).forEach(command -> command(command, ""));
        }
        macro("Sh FILES");
        macro("Bl -tag -width Ds");
        macro("It Pa /etc/farpage/");
        text("Configuration of the services.");
        macro("It Pa /run/farpage/");
        text("Sockets of the page agent and of the keeper of this host.");
        macro("El");
        macro("Sh EXIT STATUS");
        exitCodes(spec);
        macro("Sh SEE ALSO");
        text("The pages below");
        macro("Pa /usr/share/doc/farpage-common/ .");
        return page.toString();
    }

    private void exitCodes(CommandSpec spec) {
        Map<String, String> codes = spec.usageMessage().exitCodeList();
        if (codes.isEmpty()) {
            text("0 if the command has done what it says, 1 if it could not, 2 if it was used wrongly.");
            return;
        }
        macro("Bl -tag -width Ds");
        codes.forEach((code, meaning) -> {
            macro("It " + code.strip());
            text(meaning.replace("%n", " "));
        });
        macro("El");
    }

    private void command(CommandLine command, String before) {
        CommandSpec spec = command.getCommandSpec();
        String path = (before + " " + spec.name()).strip();
        macro("Ss " + escape(path));
        sentences(spec).forEach(this::text);
        arguments(spec);
        commands(command).forEach(one -> command(one, path));
    }

    /** Visible subcommands, each once whatever its aliases. */
    private static List<CommandLine> commands(CommandLine of) {
        return of.getSubcommands().values().stream()
                .filter(one -> !one.getCommandSpec().usageMessage().hidden())
                .distinct()
                .toList();
    }

    private void arguments(CommandSpec spec) {
        List<ArgSpec> shown = new ArrayList<>(spec.positionalParameters());
        shown.addAll(spec.options());
        shown.removeIf(ArgSpec::hidden);
        if (shown.isEmpty()) {
            return;
        }
        macro("Bl -tag -width Ds");
        for (ArgSpec one : shown) {
            switch (one) {
                case OptionSpec option ->
                    macro("It "
                            + Arrays.stream(option.names()).map(ManPage::flag).collect(Collectors.joining(" , "))
                            + (option.arity().max() > 0 ? " Ar " + quoted(option.paramLabel()) : ""));
                case PositionalParamSpec parameter -> macro("It Ar " + quoted(parameter.paramLabel()));
                default -> throw new IllegalStateException("neither an option nor a parameter: " + one);
            }
            for (String line : one.description()) {
                text(line.replace("%n", " "));
            }
        }
        macro("El");
    }

    private static String flag(String option) {
        // Fl writes one dash itself.
        return option.equals("-") ? "Fl" : "Fl " + escape(option.substring(1));
    }

    private static String quoted(String label) {
        return '"' + escape(label).replace("\"", "\\(dq") + '"';
    }

    private static List<String> sentences(CommandSpec spec) {
        return Arrays.stream(spec.usageMessage().description())
                .map(line -> line.replace("%n", " "))
                .filter(line -> !line.isBlank())
                .toList();
    }

    private static String first(List<String> description) {
        String line = description.isEmpty() ? "a program of farpage" : description.getFirst();
        return line.endsWith(".") ? line.substring(0, line.length() - 1) : line;
    }

    private void macro(String line) {
        page.append('.').append(line).append('\n');
    }

    /** Text, a sentence a line as mdoc wants it. A line that begins with a period or an apostrophe would be a macro. */
    private void text(String text) {
        for (String line : escape(text.strip())
                .replaceAll("([.!?][)'\"]*) +(?=[A-Z])", "$1\n")
                .split("\n", -1)) {
            if (!line.isBlank()) {
                page.append(line.startsWith(".") || line.startsWith("'") ? "\\&" : "")
                        .append(line.strip())
                        .append('\n');
            }
        }
    }

    private static String escape(String text) {
        return text.replace("\\", "\\e").replace("-", "\\-");
    }
}
