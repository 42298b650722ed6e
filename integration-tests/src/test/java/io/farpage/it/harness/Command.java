package io.farpage.it.harness;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import picocli.CommandLine;

/**
 * What a command has done that was executed in this JVM: the same as the program from its arguments on, without a
 * second of CPU time for a start. For what needs no environment, signal, terminal, standard input or end of its process
 * (a keeper holds {@code keeper-drop} for the agent until then), and prints no bytes.
 *
 * @param code the exit code
 * @param out standard output
 * @param err standard error
 */
public record Command(int code, String out, String err) {

    /** Executes a command of {@code page-agent} and waits for its end. */
    public static Command agent(String... arguments) {
        return execute(io.farpage.agent.Main.commandLine(arguments), arguments);
    }

    /** As {@link #agent(String...)}. */
    public static Command agent(List<String> arguments) {
        return agent(arguments.toArray(String[]::new));
    }

    /** Executes a command of {@code coordinator} and waits for its end. */
    public static Command coordinator(String... arguments) {
        return execute(io.farpage.coordinator.Main.commandLine(arguments), arguments);
    }

    /** As {@link #coordinator(String...)}. */
    public static Command coordinator(List<String> arguments) {
        return coordinator(arguments.toArray(String[]::new));
    }

    /** Executes a command of {@code farpage} and waits for its end. */
    public static Command farpage(String... arguments) {
        return execute(io.farpage.cli.Main.commandLine(arguments), arguments);
    }

    private static Command execute(CommandLine program, String... arguments) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int code = program.setOut(new PrintWriter(out))
                .setErr(new PrintWriter(err))
                .execute(arguments);
        return new Command(code, out.toString(), err.toString());
    }

    /** The same, if the command succeeded. */
    public Command done() {
        if (code != 0) {
            throw new AssertionError("exit code " + code + "\n" + out + err);
        }
        return this;
    }
}
