package io.farpage.coordinator.command;

import io.farpage.coordinator.Main;
import java.io.PrintWriter;
import java.io.StringWriter;
import picocli.CommandLine;

/** Commands of the program, run in this process. */
public final class Commands {

    private Commands() {}

    /** What a command ended with and printed. */
    public record Outcome(int code, String out, String err) {}

    /** Runs a command. */
    public static Outcome run(String... arguments) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        CommandLine program = Main.commandLine();
        program.setOut(new PrintWriter(out));
        program.setErr(new PrintWriter(err));
        int code = program.execute(arguments);
        return new Outcome(code, out.toString(), err.toString());
    }
}
