package io.farpage.config;

import java.util.List;
import java.util.Optional;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/**
 * Gives a program its commands: only the one that is called, since to make the models of all takes longer than most
 * commands run.
 */
public final class Subcommands {

    private Subcommands() {}

    /**
     * Adds the command that the arguments begin with. If they begin with none of the program's commands, all are added,
     * since the program then shows them or says which was meant.
     *
     * @param commands classes with {@link Command}, in the order of the program's help
     * @return whether all were added
     */
    public static boolean add(CommandLine program, List<Class<?>> commands, String... args) {
        Optional<Class<?>> called = args.length == 0
                ? Optional.empty()
                : commands.stream()
                        .filter(command -> args[0].equals(name(command)))
                        .findFirst();
        called.map(List::<Class<?>>of).orElse(commands).forEach(program::addSubcommand);
        return called.isEmpty();
    }

    private static String name(Class<?> command) {
        Command annotation = command.getAnnotation(Command.class);
        if (annotation == null) {
            throw new IllegalArgumentException(command + " has no @Command");
        }
        return annotation.name();
    }
}
