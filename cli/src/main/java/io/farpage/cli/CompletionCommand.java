package io.farpage.cli;

import java.io.PrintWriter;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.AutoComplete;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code farpage completion bash|zsh}: the script that completes commands and options. */
@Command(
        name = "completion",
        description = {
            "Prints the script with which a shell completes commands, options and their values.",
            "bash: farpage completion bash > /etc/bash_completion.d/farpage",
            "zsh, in ~/.zshrc: source <(farpage completion zsh)"
        },
        mixinStandardHelpOptions = true)
final class CompletionCommand implements Callable<Integer> {

    /** The shells. */
    enum Shell {
        BASH,
        ZSH
    }

    @Parameters(paramLabel = "SHELL", description = "${COMPLETION-CANDIDATES}, in any case.")
    private Shell shell = Shell.BASH;

    @Spec
    private @Nullable CommandSpec spec;

    CompletionCommand() {}

    @Override
    public Integer call() {
        PrintWriter out = Objects.requireNonNull(spec).commandLine().getOut();
        if (shell == Shell.ZSH) {
            // zsh runs the completions of bash once these two are loaded.
            out.println("autoload -U +X compinit && compinit -u");
            out.println("autoload -U +X bashcompinit && bashcompinit");
        }
        out.print(AutoComplete.bash("farpage", Main.commandLine()));
        out.flush();
        return 0;
    }
}
